package accounts

import (
	"fleetboard/db"
)

// sessionService lists the browsers in which a person is logged in, and ends their
// sessions.
type sessionService struct{ db *db.DB }

// newSessionService returns the service.
func newSessionService(d *db.DB) *sessionService { return &sessionService{db: d} }
