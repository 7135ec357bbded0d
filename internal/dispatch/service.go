package dispatch

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"fleetboard/db"
	"fleetboard/db/dbsqlc"
	agenttokens "fleetboard/internal/accounts/tokens"
	"fleetboard/internal/batch"
	"fleetboard/internal/dispatch/waitlist"
	"fleetboard/internal/eventlog"
	"fleetboard/internal/fault"
	"fleetboard/internal/fleet"
	"fleetboard/internal/ids"
	"fleetboard/internal/jobs"
	"fleetboard/internal/tenancy"
)

var q = dbsqlc.New()

// Notifier carries wake-ups between the processes of one database.
type Notifier interface {
	Publish(topics ...string)
	Subscribe(prefix string, fn func(topic string)) (cancel func())
}

// TokenIssuer makes the tokens that agents work with.
type TokenIssuer interface {
	IssueAgentToken(p tenancy.Principal) (token string, expires time.Time, err error)
}

// Service gives jobs to agents and takes them back.
type Service struct {
	db              *db.DB
	jobs            *jobs.Service
	wake            Notifier
	tokens          TokenIssuer
	log             *slog.Logger
	lanes           *laneCache
	waiters         *waitlist.List
	watermarks      *scanWatermarks
	leaseWatermarks *leaseWatermarks
	expired         *expiredLeases
	claims          *batch.Queue[claimCall, claimResult]
	ends            *batch.Queue[finishCall, finished]
	beats           *batch.Queue[beatCall, HeartbeatResult]
	reports         *batch.Queue[reportCall, LeaseStatus]
	usages          *batch.Queue[usageCall, []UsageAnswer]
	// unsubscribe ends the subscriptions to wake-ups.
	unsubscribe []func()
}

// New returns the dispatch of the jobs kept in d. Close ends its subscription.
func New(d *db.DB, list *jobs.Service, wake Notifier, tokens TokenIssuer, log *slog.Logger) *Service {
	s := &Service{db: d, jobs: list, wake: wake, tokens: tokens, log: log,
		lanes: newLaneCache(d), waiters: waitlist.New(), watermarks: newScanWatermarks(), leaseWatermarks: newLeaseWatermarks()}
	s.expired = newExpiredLeases(s.lapsed)
	s.claims = batch.New(d, batch.Handler[claimCall, claimResult]{Lock: s.lockClaim, Exec: s.execClaims})
	s.ends = batch.New(d, batch.Handler[finishCall, finished]{Lock: s.lockFinish, Exec: s.execFinishes})
	s.beats = batch.New(d, batch.Handler[beatCall, HeartbeatResult]{Lock: s.lockHeartbeat, Exec: s.execHeartbeats})
	s.beats.MinInterval = beatInterval
	s.reports = batch.New(d, batch.Handler[reportCall, LeaseStatus]{Lock: s.lockReport, Exec: s.execReports})
	s.usages = batch.New(d, batch.Handler[usageCall, []UsageAnswer]{Exec: s.execUsage})
	s.waiters.Watch = s.pollLanes
	s.unsubscribe = []func(){wake.Subscribe("lane:", s.laneChanged), wake.Subscribe("seat:", s.waiters.SeatFreed),
		wake.Subscribe(agenttokens.RevokedTopics, s.tokensEnded)}
	return s
}

// Close ends the subscriptions to wake-ups and every wait.
func (s *Service) Close() {
	for _, end := range s.unsubscribe {
		end()
	}
	s.waiters.Close()
}

// tokensEnded lets the waiting claims of a workspace look again, so that those
// whose token has ended end. Missed news wakes everybody by the lanes.
func (s *Service) tokensEnded(topic string) {
	if workspace, ok := agenttokens.ParseRevokedTopic(topic); ok {
		s.waiters.WakeWorkspace(workspace)
	}
}

// laneChanged is told of a claimable job in a lane, or, with the bare prefix,
// that wake-ups may have been missed.
func (s *Service) laneChanged(topic string) {
	workspace, lane, ok := jobs.ParseLaneTopic(topic)
	if !ok {
		s.lanes.forgetAll()
		s.waiters.WakeAll()
		return
	}
	if !s.lanes.knows(workspace, lane) {
		s.lanes.forget(workspace)
		s.waiters.WakeWorkspace(workspace)
		return
	}
	s.waiters.LaneChanged(workspace, lane)
}

// Ref names the lease that an agent speaks of: a job, by key or id, and the
// epoch it was given.
type Ref struct {
	Job   string
	Epoch int64
}

// Directives of a LeaseStatus.
const (
	Continue = "continue"
	Drain    = "drain"
	Fenced   = "fenced"
	Cancel   = "cancel"
	Pause    = "pause"
	Warn     = "warn"
)

// LeaseStatus is how a lease stands, and what its holder is asked to do.
type LeaseStatus struct {
	Job       string
	Epoch     int64
	Directive string
	Reason    string
	ExpiresAt *time.Time
	Answer    string
	// LinesLeftOut is how many log lines were not kept.
	LinesLeftOut int
}

// directiveOr is what an agent is told: what was asked of its lease (of cancel,
// pause and warn the lease has the most pressing), else otherwise.
func directiveOr(directive, otherwise string) string {
	if directive != "" {
		return directive
	}
	return otherwise
}

// unasked is what an agent is told of a lease of which nothing was asked.
func unasked(draining bool) string {
	if draining {
		return Drain
	}
	return Continue
}

// requireAgent refuses whoever is not an agent.
func requireAgent(who tenancy.Principal) error {
	if who.Kind != tenancy.KindAgent {
		return fault.New(fault.Forbidden, "Only an agent's token may do this.")
	}
	return nil
}

// publish wakes whoever waits for what changed jobs mean: their lanes, the
// seats that came free, the pages. Each of them once.
func (s *Service) publish(workspace ids.ID, factories []ids.ID, changed ...jobs.Job) {
	topics := append(jobs.Topics(workspace, changed...), fleet.Topic(workspace))
	for _, f := range factories {
		topics = append(topics, fleet.SeatTopic(workspace, f))
	}
	slices.Sort(topics)
	s.wake.Publish(slices.Compact(topics)...)
}

// append records a fact about the fleet.
func appendEvent(ctx context.Context, tx db.Tx, who tenancy.Principal, e eventlog.Event) error {
	e.Actor = who.Actor()
	return eventlog.AppendTx(ctx, tx, who.Workspace, e)
}
