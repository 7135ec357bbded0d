package twofactor

import (
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/vault"
	"github.com/fleetboard/fleetboard/internal/accounts/login"
	"github.com/fleetboard/fleetboard/internal/accounts/people"
	"github.com/fleetboard/fleetboard/internal/accounts/throttle"
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
