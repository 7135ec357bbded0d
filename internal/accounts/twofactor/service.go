package twofactor

import (
	"time"

	"fleetboard/db"
	"fleetboard/db/vault"
	"fleetboard/internal/accounts/login"
	"fleetboard/internal/accounts/people"
	"fleetboard/internal/accounts/throttle"
)

// Service turns second factors on and off and checks their codes. It is safe
// for concurrent use.
type Service struct {
	db       *db.DB
	seals    vault.Ring // of the secrets
	people   *people.Service
	login    *login.Service
	throttle *throttle.Service
	now      func() time.Time
}

// New returns the service. The ring seals the secrets of second factors.
func New(d *db.DB, seals vault.Ring, people *people.Service, login *login.Service, attempts *throttle.Service,
	now func() time.Time) *Service {
	return &Service{db: d, seals: seals, people: people, login: login, throttle: attempts, now: now}
}
