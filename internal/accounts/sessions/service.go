package sessions

import (
	"github.com/fleetboard/fleetboard/db"
)

// Service lists the browsers in which a person is logged in, and ends their
// sessions.
type Service struct{ db *db.DB }

// New returns the service.
func New(d *db.DB) *Service { return &Service{db: d} }
