package accounts

import (
	"log/slog"

	"fleetboard/db"
)

// setupService makes what a first start needs, and sets its owner up.
type setupService struct {
	db        *db.DB
	passwords *passwords
	log       *slog.Logger
}

// newSetupService returns the service.
func newSetupService(d *db.DB, hashes *passwords, log *slog.Logger) *setupService {
	return &setupService{db: d, passwords: hashes, log: log}
}
