package identities

import (
	"log/slog"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/accounts/login"
	"github.com/fleetboard/fleetboard/internal/accounts/members"
)

// Publisher wakes the processes of one database.
type Publisher interface{ Publish(topics ...string) }

// Service holds the use cases of people whom a provider vouches for. It is
// safe for concurrent use.
type Service struct {
	db      *db.DB
	wake    Publisher
	login   *login.Service
	members *members.Service
	log     *slog.Logger
}

// New returns the service.
func New(d *db.DB, wake Publisher, login *login.Service, list *members.Service, log *slog.Logger) *Service {
	return &Service{db: d, wake: wake, login: login, members: list, log: log}
}
