package workspaces

import (
	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/accounts/members"
)

// Service makes workspaces and says who belongs to which. It is safe for
// concurrent use.
type Service struct {
	db      *db.DB
	members *members.Service
}

// New returns the service.
func New(d *db.DB, list *members.Service) *Service {
	return &Service{db: d, members: list}
}
