package accounts

import (
	"fleetboard/db"
)

// loginService lets people in by their passwords, and changes these. It is safe for
// concurrent use.
type loginService struct {
	db        *db.DB
	passwords *passwords
	people    *personService
	throttle  *throttleService
	devices   *deviceService
}

// newLoginService returns the service.
func newLoginService(d *db.DB, hashes *passwords, people *personService, attempts *throttleService,
	devices *deviceService) *loginService {
	return &loginService{db: d, passwords: hashes, people: people, throttle: attempts, devices: devices}
}
