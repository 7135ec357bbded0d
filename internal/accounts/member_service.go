package accounts

import (
	"fleetboard/db"
)

// Notifier carries wake-ups between the processes of one database.
type Notifier interface {
	Publish(topics ...string)
	Subscribe(prefix string, fn func(topic string)) (cancel func())
}

// memberService holds the use cases of members and invitations. It is safe for
// concurrent use.
type memberService struct {
	db        *db.DB
	wake      Notifier
	passwords *passwords
}

// newMemberService returns the service.
func newMemberService(d *db.DB, wake Notifier, hashes *passwords) *memberService {
	return &memberService{db: d, wake: wake, passwords: hashes}
}
