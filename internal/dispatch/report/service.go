package report

import (
	"context"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/batch"
	"github.com/fleetboard/fleetboard/internal/dispatch/lease"
	"github.com/fleetboard/fleetboard/internal/fleet"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	"github.com/fleetboard/fleetboard/internal/waitlist"
)

// Notifier carries wake-ups between the processes of one database.
type Notifier interface {
	Publish(topics ...string)
	Subscribe(prefix string, fn func(topic string)) (cancel func())
}

// TokenIssuer makes the tokens that agents work with.
type TokenIssuer interface {
	IssueAgentToken(p tenancy.Principal) (token string, expires time.Time, err error)
}

// Enrolment knows how agents and factories are described.
type Enrolment interface {
	// DescribeFactoryTx writes what an agent says of its factory, which it locks.
	DescribeFactoryTx(ctx context.Context, tx db.Tx, who tenancy.Principal, f fleet.FactoryInfo) error
	// KeptBoot is the boot id that a call says, as it is kept.
	KeptBoot(said, ofToken string) string
}

// Seats gives agents jobs for the seats that they free.
type Seats interface {
	// FillTx fills seats in the transaction in which they become free, as far as it needs to
	// wait for nobody; notify runs after the commit.
	FillTx(ctx context.Context, tx db.Tx, workspace ids.ID, seats []*lease.Seat) (notify func(), err error)
	// Deliver is what an agent gets for its seat after the commit, by a claim of its own where
	// FillTx has left the seat. The error says why the claim went wrong, or the caller away.
	Deliver(ctx context.Context, seat lease.Seat) (lease.Claimed, error)
}

// Service takes what agents say of themselves and of their leases.
type Service struct {
	db        *db.DB
	jobs      *jobs.Service
	wake      Notifier
	tokens    TokenIssuer
	enrolment Enrolment
	waiters   *waitlist.List
	effects   *lease.Effects
	seats     Seats
	contents  Contents // nil where there are no blobs

	finishes *batch.Queue[finishCall, finishResult]
	beats    *batch.Queue[beatCall, HeartbeatResult]
	reports  *batch.Queue[reportCall, lease.Status]
	usages   *batch.Queue[usageCall, []UsageAnswer]
}

// New returns the reports on the jobs kept in d.
func New(d *db.DB, list *jobs.Service, wake Notifier, tokens TokenIssuer, enrolment Enrolment, waiters *waitlist.List,
	effects *lease.Effects, seats Seats, contents Contents,
) *Service {
	s := &Service{db: d, jobs: list, wake: wake, tokens: tokens, enrolment: enrolment, waiters: waiters, effects: effects,
		seats: seats, contents: contents}
	s.finishes = batch.New(d, batch.Handler[finishCall, finishResult]{Lock: s.lockFinish, Exec: s.execFinishes})
	s.beats = batch.New(d, batch.Handler[beatCall, HeartbeatResult]{Lock: s.lockHeartbeat, Exec: s.execHeartbeats})
	s.beats.MinInterval = beatInterval
	s.reports = batch.New(d, batch.Handler[reportCall, lease.Status]{Lock: s.lockReport, Exec: s.execReports})
	s.usages = batch.New(d, batch.Handler[usageCall, []UsageAnswer]{Exec: s.execUsage})
	return s
}

// Transactions returns how many transactions calls were answered in so far.
func (s *Service) Transactions() int64 {
	return s.finishes.Transactions() + s.beats.Transactions() + s.reports.Transactions() + s.usages.Transactions()
}
