package loss

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/internal/eventlog/seal"
	"github.com/fleetboard/fleetboard/internal/eventlog/witness"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

const (
	// maxEvents is how many events of a loss are kept by name; all are counted.
	maxEvents = 1000
	// maxLosses is how many losses of a workspace are read.
	maxLosses = 100
	// maxOpen is how many of those are read that no person has noted.
	maxOpen = 10
	// shownJobs is how many jobs a loss names in its event.
	shownJobs = 20
)

// Loss is what the log of a workspace lacks.
type Loss struct {
	ID        int64
	NoticedAt time.Time
	NoticedBy string // the process that had seen it
	Detail    string // of a log that was cut
	Block     int64  // that it had been sealed up to
	// Events are the first maxEvents of Count, which have ids from First to Last.
	Events      []witness.Event
	Count       int64
	First, Last int64
	NotedAt     *time.Time // nil as long as no person has noted it
}

// Jobs returns the keys of the jobs whose events are missing, each once, in the order of the events.
func (l Loss) Jobs() []string {
	var keys []string
	for _, e := range l.Events {
		if e.Key != "" && !slices.Contains(keys, e.Key) {
			keys = append(keys, e.Key)
		}
	}
	return keys
}

// News tells pages of a workspace that its log went on.
type News interface{ Publish(topics ...string) }

// Service writes down what logs lack.
type Service struct {
	db       *db.DB
	news     News
	instance string
}

// New returns the service of the process that calls itself instance.
func New(d *db.DB, news News, instance string) *Service {
	return &Service{db: d, news: news, instance: instance}
}

// RecordMissing writes down that a log lacks events, unless that is known, and returns of how many it was not.
func (s *Service) RecordMissing(ctx context.Context, workspace ids.ID, missing []witness.Event) (n int, err error) {
	err = s.db.In(ctx, db.Workspace(workspace), func(tx db.Tx) error {
		known, err := lockedLossesTx(ctx, tx, workspace)
		if err != nil {
			return err
		}
		fresh := slices.DeleteFunc(slices.Clone(missing), func(e witness.Event) bool { return knownIn(known, e) })
		if n = len(fresh); n == 0 {
			return nil
		}
		return addTx(ctx, tx, workspace, Loss{NoticedBy: s.instance, Events: fresh[:min(n, maxEvents)], Count: int64(n),
			First: fresh[0].ID, Last: fresh[n-1].ID})
	})
	s.tell(err, n, workspace)
	return n, err
}

// RecordCut writes down that a log is not the one that was sealed, unless that is known.
func (s *Service) RecordCut(ctx context.Context, cut seal.Cut) error {
	n := 0
	err := s.db.In(ctx, db.Workspace(cut.Workspace), func(tx db.Tx) error {
		known, err := lockedLossesTx(ctx, tx, cut.Workspace)
		if err != nil || slices.ContainsFunc(known, func(l Loss) bool { return l.Block == cut.Block }) {
			return err
		}
		n = 1
		return addTx(ctx, tx, cut.Workspace, Loss{NoticedBy: s.instance, Detail: cut.Detail, Block: cut.Block})
	})
	s.tell(err, n, cut.Workspace)
	return err
}

// tell has pages look, where something was written down.
func (s *Service) tell(err error, n int, workspace ids.ID) {
	if err == nil && n > 0 {
		s.news.Publish(eventlog.Topic(workspace))
	}
}

// knownIn reports whether a loss that was written down has the event: by name, or in the range of one
// that names only its first events.
func knownIn(losses []Loss, e witness.Event) bool {
	return slices.ContainsFunc(losses, func(l Loss) bool {
		if slices.ContainsFunc(l.Events, func(k witness.Event) bool { return k.ID == e.ID && k.At.Equal(e.At) }) {
			return true
		}
		return l.Count > int64(len(l.Events)) && l.First <= e.ID && e.ID <= l.Last
	})
}

// lostFacts are the payload of the event of a loss.
type lostFacts struct {
	Detail string   `json:"detail,omitempty"`
	Events int64    `json:"events,omitempty"`
	First  int64    `json:"first,omitempty"`
	Last   int64    `json:"last,omitempty"`
	Jobs   []string `json:"jobs,omitempty"`
}

// addTx writes a loss down, with its event.
func addTx(ctx context.Context, tx db.Tx, workspace ids.ID, l Loss) error {
	if err := insertTx(ctx, tx, workspace, l); err != nil {
		return fmt.Errorf("write down a loss: %w", err)
	}
	jobs := l.Jobs()
	return eventlog.RecordTx(ctx, tx, tenancy.System(workspace, "proof"), eventlog.LogLost,
		lostFacts{Detail: l.Detail, Events: l.Count, First: l.First, Last: l.Last, Jobs: jobs[:min(len(jobs), shownJobs)]})
}

// OpenTx returns the losses of a workspace that no person has noted, the newest first, each with fifty of
// its events at most.
func OpenTx(ctx context.Context, tx db.Tx, workspace ids.ID) ([]Loss, error) {
	return openTx(ctx, tx, workspace, maxOpen)
}

// List returns what the workspace's log lacks, the newest first.
func (s *Service) List(ctx context.Context, who tenancy.Principal) (list []Loss, err error) {
	err = s.db.In(ctx, db.Workspace(who.Workspace), func(tx db.Tx) error {
		list, err = lossesTx(ctx, tx, who.Workspace, maxLosses)
		return err
	}, db.OneRead)
	if err != nil {
		return nil, fmt.Errorf("read losses: %w", err)
	}
	return list, nil
}

// Note says that a person knows of the losses, and returns of how many nobody had said it. Fault:
// Forbidden unless who may run the fleet.
func (s *Service) Note(ctx context.Context, who tenancy.Principal) (n int, err error) {
	if !who.Can(tenancy.RunFleet) {
		return 0, fault.New(fault.Forbidden, "Only owners and admins say that a loss is known.")
	}
	err = s.db.In(ctx, db.Workspace(who.Workspace), func(tx db.Tx) error {
		noted, err := noteTx(ctx, tx, who.Workspace)
		if n = noted; err != nil || n == 0 {
			return err
		}
		return eventlog.RecordTx(ctx, tx, who, eventlog.LossNoted, map[string]int{"losses": n})
	})
	if err != nil {
		return 0, fmt.Errorf("note losses: %w", err)
	}
	s.tell(nil, n, who.Workspace)
	return n, nil
}
