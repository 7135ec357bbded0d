package members

import (
	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/accounts/passwords"
)

// Notifier carries wake-ups between the processes of one database.
type Notifier interface {
	Publish(topics ...string)
	Subscribe(prefix string, fn func(topic string)) (cancel func())
}

// Service holds the use cases of members and invitations. It is safe for
// concurrent use.
type Service struct {
	db        *db.DB
	wake      Notifier
	passwords *passwords.Hasher
}

// New returns the service.
func New(d *db.DB, wake Notifier, hashes *passwords.Hasher) *Service {
	return &Service{db: d, wake: wake, passwords: hashes}
}
