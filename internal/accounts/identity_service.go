package accounts

import (
	"log/slog"

	"fleetboard/db"
)

// identityService holds the use cases of people whom a provider vouches for. It is
// safe for concurrent use.
type identityService struct {
	db      *db.DB
	wake    Notifier
	login   *loginService
	members *memberService
	log     *slog.Logger
}

// newIdentityService returns the service.
func newIdentityService(d *db.DB, wake Notifier, login *loginService, list *memberService, log *slog.Logger) *identityService {
	return &identityService{db: d, wake: wake, login: login, members: list, log: log}
}
