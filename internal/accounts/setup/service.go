package setup

import (
	"log/slog"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/accounts/passwords"
	"github.com/fleetboard/fleetboard/internal/accounts/workspaces"
)

// Service makes what a first start needs, and sets its owner up.
type Service struct {
	db         *db.DB
	passwords  *passwords.Hasher
	workspaces *workspaces.Service
	log        *slog.Logger
}

// New returns the service.
func New(d *db.DB, hashes *passwords.Hasher, w *workspaces.Service, log *slog.Logger) *Service {
	return &Service{db: d, passwords: hashes, workspaces: w, log: log}
}
