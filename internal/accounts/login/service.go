package login

import (
	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/accounts/devices"
	"github.com/fleetboard/fleetboard/internal/accounts/passwords"
	"github.com/fleetboard/fleetboard/internal/accounts/people"
	"github.com/fleetboard/fleetboard/internal/accounts/throttle"
)

// Service lets people in by their passwords, and changes these. It is safe for
// concurrent use.
type Service struct {
	db        *db.DB
	passwords *passwords.Hasher
	people    *people.Service
	throttle  *throttle.Service
	devices   *devices.Service
}

// New returns the service.
func New(d *db.DB, hashes *passwords.Hasher, people *people.Service, attempts *throttle.Service,
	devices *devices.Service) *Service {
	return &Service{db: d, passwords: hashes, people: people, throttle: attempts, devices: devices}
}
