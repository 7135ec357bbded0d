package people

import (
	"github.com/fleetboard/fleetboard/db"
)

// Service holds what people see and change of their own accounts.
type Service struct{ db *db.DB }

// New returns the service.
func New(d *db.DB) *Service { return &Service{db: d} }
