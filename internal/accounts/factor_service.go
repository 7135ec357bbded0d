package accounts

import (
	"time"

	"fleetboard/db"
	"fleetboard/db/vault"
)

// factorService turns second factors on and off and checks their codes. It is safe
// for concurrent use.
type factorService struct {
	db       *db.DB
	seals    vault.Ring // of the secrets
	people   *personService
	login    *loginService
	throttle *throttleService
	now      func() time.Time
}

// newFactorService returns the service. The ring seals the secrets of second factors.
func newFactorService(d *db.DB, seals vault.Ring, people *personService, login *loginService, attempts *throttleService,
	now func() time.Time) *factorService {
	return &factorService{db: d, seals: seals, people: people, login: login, throttle: attempts, now: now}
}
