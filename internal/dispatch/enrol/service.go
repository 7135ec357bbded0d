package enrol

import (
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/dispatch/lease"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	"github.com/fleetboard/fleetboard/internal/waitlist"
)

// TokenIssuer makes the tokens that agents work with.
type TokenIssuer interface {
	IssueAgentToken(p tenancy.Principal) (token string, expires time.Time, err error)
}

// Service lets agents in and ends them.
type Service struct {
	db      *db.DB
	jobs    *jobs.Service
	wake    lease.Publisher
	tokens  TokenIssuer
	waiters *waitlist.List
	effects *lease.Effects
}

// New returns the enrolment of agents in d.
func New(d *db.DB, list *jobs.Service, wake lease.Publisher, tokens TokenIssuer, waiters *waitlist.List, effects *lease.Effects) *Service {
	return &Service{db: d, jobs: list, wake: wake, tokens: tokens, waiters: waiters, effects: effects}
}
