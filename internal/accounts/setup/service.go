package setup

import (
	"log/slog"

	"fleetboard/db"
	"fleetboard/internal/accounts/passwords"
)

// Service makes what a first start needs, and sets its owner up.
type Service struct {
	db        *db.DB
	passwords *passwords.Hasher
	log       *slog.Logger
}

// New returns the service.
func New(d *db.DB, hashes *passwords.Hasher, log *slog.Logger) *Service {
	return &Service{db: d, passwords: hashes, log: log}
}
