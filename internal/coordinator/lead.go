package coordinator

import (
	"context"
	"time"

	"github.com/fleetboard/fleetboard/internal/leadership"
	"github.com/fleetboard/fleetboard/internal/runloop"
)

// Work is what a coordinator has others do. Each call does a bounded part of it,
// in all workspaces, and is safe in any number of processes at once.
type Work struct {
	Recovery  Recovery
	Promotion Promotion
	People    People
	Events    Events
	JobLogs   JobLogs
	Words     Words
	Secrets   Secrets
	Seals     Seals
	Costs     Costs
	Prices    Prices
	Budgets   Budgets
	Merges    Merges
	Blobs     Blobs
	Messages  Messages
}

// Recovery takes jobs back from agents; each returns how many.
type Recovery interface {
	Reap(ctx context.Context) (int, error)
	Warn(ctx context.Context) (int, error)
	TimeOut(ctx context.Context) (int, error)
	FailCycles(ctx context.Context) (int, error)
}

// Promotion makes waiting jobs ready; each returns how many.
type Promotion interface {
	Promote(ctx context.Context) (int, error)
	SweepDependencies(ctx context.Context) (int, error)
}

// People forgets sessions and links that are over.
type People interface {
	Expire(ctx context.Context) error
}

// Events folds what is old in the log of events.
type Events interface {
	Compact(ctx context.Context) (int, error)
}

// JobLogs deletes what is old in the logs of jobs.
type JobLogs interface {
	ExpireLogs(ctx context.Context) (int, error)
}

// Words writes the words by which jobs are found: those of their texts, and those of the logs
// of attempts that have ended. Each returns how much it looked at.
type Words interface {
	IndexTexts(ctx context.Context) (int, error)
	IndexLogs(ctx context.Context) (int, error)
}

// Secrets encrypts what earlier keys encrypted with the present ones, and returns
// how many values.
type Secrets interface {
	RotateSecrets(ctx context.Context) (int, error)
}

// Seals seals the log of events, and returns how many events.
type Seals interface {
	Seal(ctx context.Context) (int, error)
}

// Costs takes what finished jobs cost into the history that estimates go by, and
// returns how many jobs it looked at.
type Costs interface {
	Extend(ctx context.Context) (int, error)
}

// Prices prices what was used without a known cost, once there is a price for it, and
// returns how many usage entries.
type Prices interface {
	PriceUsage(ctx context.Context) (int, error)
}

// Merges has approved work merged by factories, and returns how many merges it began, ended
// or decided about.
type Merges interface {
	MergeApproved(ctx context.Context) (int, error)
}

// Messages sends agents and people messages of what happened, writes the words by which
// messages are found, and drops old ones. Each returns how many.
type Messages interface {
	IndexWords(ctx context.Context) (int, error)
	Bridge(ctx context.Context) (int, error)
	DropOld(ctx context.Context) (int, error)
}

// Budgets opens the periods of budgets and takes back raises that have ended; and
// foresees whether money lasts. Each returns how many.
type Budgets interface {
	Sweep(ctx context.Context) (int, error)
	Foresee(ctx context.Context) (int, error)
}

// Blobs collects contents that nothing refers to any more, and seals the keys of others
// with the present keys of their workspaces. Each returns how many.
type Blobs interface {
	Collect(ctx context.Context) (int, error)
	RotateKeys(ctx context.Context) (int, error)
}

const (
	// reportEvery is how often what was done is written down, at most.
	reportEvery = 5 * time.Second
	// lastWordTimeout bounds what is written down when a term is over.
	lastWordTimeout = 2 * time.Second
	// slowTimeout is for loops that go through all workspaces.
	slowTimeout = 5 * time.Minute
)

// term is one term of this process.
type term struct {
	*Service
	*leadership.Term
	counters *counters
}

// lead does the coordinator's work until ctx ends.
func (s *Service) lead(ctx context.Context, t *leadership.Term) {
	m := &term{Service: s, Term: t, counters: newCounters()}
	m.note(ctx, levelInfo, "Leads from now on.")
	_ = runloop.Run(ctx, s.log, m.loops()...)
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastWordTimeout)
	defer cancel()
	if err := m.report(last); err != nil {
		s.log.Warn("the last cycles were not written down", "term", t.Number, "error", err)
		return
	}
	m.note(last, levelInfo, "Leads no longer.")
}

func (t *term) loops() []runloop.Loop {
	w := t.work
	return []runloop.Loop{
		{Name: "reaper", Every: 3 * time.Second, Jitter: time.Second, Do: t.counted(takenBack, w.Recovery.Reap)},
		{Name: "promotion", Every: 2 * time.Second, Jitter: time.Second, Do: t.counted(promoted, w.Promotion.Promote)},
		{Name: "health", Every: 5 * time.Second, Jitter: time.Second, Do: t.counted(agentsDead, t.checkHealth)},
		{Name: "warnings", Every: 15 * time.Second, Jitter: 2 * time.Second, Do: t.counted(warned, w.Recovery.Warn)},
		{Name: "time-outs", Every: 15 * time.Second, Jitter: 2 * time.Second, Do: t.counted(timedOut, w.Recovery.TimeOut)},
		{Name: "dependencies", Every: time.Minute, Jitter: 10 * time.Second, Timeout: slowTimeout,
			Do: t.counted(promoted, sparing(w.Promotion.SweepDependencies))},
		{Name: "cycles", Every: time.Minute, Jitter: 10 * time.Second, Timeout: slowTimeout,
			Do: t.counted(cyclesFailed, sparing(w.Recovery.FailCycles))},
		{Name: "counts", Every: 10 * time.Second, Jitter: 2 * time.Second, Do: t.cycle(func(ctx context.Context) error {
			_, err := t.sumUp(ctx)
			return err
		})},
		{Name: "statistics", Every: time.Second, Jitter: 200 * time.Millisecond, Do: t.cycle(uncounted(t.analyzeGrown))},
		{Name: "seals", Every: 5 * time.Second, Jitter: time.Second, Do: t.cycle(func(ctx context.Context) error {
			_, err := w.Seals.Seal(ctx)
			return err
		})},
		{Name: "costs", Every: time.Minute, Jitter: 10 * time.Second, Timeout: slowTimeout, Do: t.cycle(func(ctx context.Context) error {
			_, err := t.exhausted(w.Costs.Extend)(ctx)
			return err
		})},
		{Name: "prices", Every: 5 * time.Second, Jitter: time.Second, Timeout: slowTimeout, Do: t.cycle(uncounted(w.Prices.PriceUsage))},
		{Name: "merges", Every: 2 * time.Second, Jitter: time.Second, Timeout: slowTimeout, Do: t.cycle(uncounted(w.Merges.MergeApproved))},
		{Name: "messages", Every: 500 * time.Millisecond, Jitter: 100 * time.Millisecond, Timeout: slowTimeout,
			Do: t.cycle(uncounted(w.Messages.Bridge))},
		{Name: "old messages", Every: time.Hour, Jitter: 10 * time.Minute, Timeout: slowTimeout,
			Do: t.cycle(uncounted(t.exhausted(w.Messages.DropOld)))},
		{Name: "budgets", Every: 10 * time.Second, Jitter: 2 * time.Second, Do: t.cycle(uncounted(w.Budgets.Sweep))},
		{Name: "projections", Every: time.Minute, Jitter: 5 * time.Second, Timeout: slowTimeout, Do: t.cycle(uncounted(w.Budgets.Foresee))},
		{Name: "sessions", Every: 10 * time.Minute, Jitter: time.Minute, Do: t.cycle(w.People.Expire)},
		{Name: "compaction", Every: 10 * time.Minute, Jitter: time.Minute, Timeout: slowTimeout,
			Do: t.counted(jobsCompacted, w.Events.Compact)},
		{Name: "job logs", Every: 10 * time.Minute, Jitter: time.Minute, Timeout: slowTimeout,
			Do: t.counted(linesExpired, t.exhausted(w.JobLogs.ExpireLogs))},
		{Name: "words of jobs", Every: 500 * time.Millisecond, Jitter: 100 * time.Millisecond, Timeout: slowTimeout,
			Do: t.cycle(uncounted(w.Words.IndexTexts))},
		{Name: "words of messages", Every: 500 * time.Millisecond, Jitter: 100 * time.Millisecond, Timeout: slowTimeout,
			Do: t.cycle(uncounted(w.Messages.IndexWords))},
		{Name: "words of logs", Every: 10 * time.Second, Jitter: 2 * time.Second, Timeout: slowTimeout,
			Do: t.cycle(uncounted(t.exhausted(w.Words.IndexLogs)))},
		{Name: "coordinator log", Every: 10 * time.Minute, Jitter: time.Minute, Timeout: slowTimeout,
			Do: t.counted(linesExpired, t.exhausted(t.expireLog))},
		{Name: "key rotation", Every: 15 * time.Second, Jitter: 5 * time.Second, Timeout: slowTimeout,
			Do: t.counted(secretsMoved, t.exhausted(w.Secrets.RotateSecrets))},
		{Name: "blob keys", Every: 15 * time.Second, Jitter: 5 * time.Second, Timeout: slowTimeout,
			Do: t.counted(secretsMoved, t.exhausted(w.Blobs.RotateKeys))},
		{Name: "blobs", Every: time.Minute, Jitter: 10 * time.Second, Timeout: slowTimeout,
			Do: t.cycle(uncounted(t.exhausted(w.Blobs.Collect)))},
		{Name: "report", Every: reportEvery, Kick: t.counters.firstCycle.C(), Do: t.report},
	}
}

// counted returns a cycle that returns how much of something it did.
func (t *term) counted(what counter, do func(context.Context) (int, error)) func(context.Context) error {
	return t.cycle(func(ctx context.Context) error {
		n, err := do(ctx)
		t.counters.did(what, n)
		return err
	})
}

// uncounted returns a cycle of what nobody counts.
func uncounted(do func(context.Context) (int, error)) func(context.Context) error {
	return func(ctx context.Context) error {
		_, err := do(ctx)
		return err
	}
}

// exhausted does a part of something again and again, until nothing is left or
// the cycle's time is over: what is written faster than one part in a cycle would
// never be caught up with.
func (t *term) exhausted(do func(context.Context) (int, error)) func(context.Context) (int, error) {
	return func(ctx context.Context) (total int, err error) {
		for n := 1; n > 0 && err == nil && t.Trusted() && ctx.Err() == nil; total += n {
			n, err = do(ctx)
		}
		return total, err
	}
}

// cycle returns one cycle of a loop, where this process still leads: one that was
// stopped for a while goes on here before it knows that its context has ended.
func (t *term) cycle(do func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		if !t.Trusted() {
			return nil
		}
		err := do(ctx)
		if err == nil {
			t.counters.cycled()
		}
		return err
	}
}
