package coordinator

import (
	"context"
	"time"

	"github.com/fleetboard/fleetboard/internal/leadership"
	"github.com/fleetboard/fleetboard/internal/metrics"
	"github.com/fleetboard/fleetboard/internal/runloop"
)

// Work is the services that the coordinator calls. Each call does a bounded part of the work,
// in all workspaces, and is safe in any number of processes at once.
type Work struct {
	Recovery      Recovery
	Promotion     Promotion
	Stops         Stops
	Pools         Pools
	Ageing        Ageing
	Preempt       Preemption
	People        People
	Events        Events
	JobLogs       JobLogs
	Transcripts   Transcripts
	Decisions     Decisions
	Dead          DeadOffers
	Words         Words
	Secrets       Secrets
	Seals         Seals
	Costs         Costs
	Prices        Prices
	Budgets       Budgets
	Merges        Merges
	Verifications Verifications
	Blobs         Blobs
	Messages      Messages
	Webhooks      Webhooks
	Notify        Notifications
}

// Recovery takes jobs back from agents. Each call returns how many it changed.
type Recovery interface {
	Reap(ctx context.Context) (int, error)
	Warn(ctx context.Context) (int, error)
	TimeOut(ctx context.Context) (int, error)
	FailCycles(ctx context.Context) (int, error)
}

// Promotion makes waiting jobs ready. Each call returns how many.
type Promotion interface {
	Promote(ctx context.Context) (int, error)
	SweepDependencies(ctx context.Context) (int, error)
}

// Ageing raises the priority of ready jobs that have waited, and returns of how many.
type Ageing interface {
	AgeReady(ctx context.Context) (int, error)
}

// Preemption asks agents to give seats to more urgent jobs, and returns about how many jobs it decided.
type Preemption interface {
	Preempt(ctx context.Context) (int, error)
}

// Stops carries out what stops and releases have left, and returns for how many jobs.
type Stops interface {
	EnforceStops(ctx context.Context) (int, error)
}

// Pools records the demand of pools, and returns of how many.
type Pools interface {
	Sample(ctx context.Context) (int, error)
}

// People deletes expired sessions and links.
type People interface {
	Expire(ctx context.Context) error
}

// Events compacts old events. Compact returns of how many jobs.
type Events interface {
	Compact(ctx context.Context) (int, error)
}

// JobLogs deletes old lines of the logs of jobs, and returns how many.
type JobLogs interface {
	ExpireLogs(ctx context.Context) (int, error)
}

// Transcripts deletes old transcripts of attempts, and returns how many.
type Transcripts interface {
	ExpireTranscripts(ctx context.Context) (int, error)
}

// Decisions deletes old decisions about which factory suits a job, and offers that have ended. Each
// call returns how many.
type Decisions interface {
	ExpireDecisions(ctx context.Context) (int, error)
	ExpireOffers(ctx context.Context) (int, error)
}

// DeadOffers deletes old offers that a broker announced in vain, and returns how many.
type DeadOffers interface {
	ExpireDeadOffers(ctx context.Context) (int, error)
}

// Words writes the words by which jobs are found: those of their texts, and those of the logs
// of attempts that have ended. Each call returns how many it read.
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

// Costs adds what finished jobs cost to the history on which estimates are based, and
// returns how many jobs it read.
type Costs interface {
	Extend(ctx context.Context) (int, error)
}

// Prices prices usage without a known cost, once its model has a price, and returns how many
// usage entries.
type Prices interface {
	PriceUsage(ctx context.Context) (int, error)
}

// Merges has approved work merged by factories, and returns how many merges it began, ended
// or decided about.
type Merges interface {
	MergeApproved(ctx context.Context) (int, error)
}

// Verifications ends verifications of work that was decided about, and notes which have ended. It returns
// how many of either.
type Verifications interface {
	EndVerifications(ctx context.Context) (int, error)
}

// Messages sends agents and people messages of what happened, writes the words by which
// messages are found, and deletes old messages. Each call returns how many.
type Messages interface {
	IndexWords(ctx context.Context) (int, error)
	Bridge(ctx context.Context) (int, error)
	DropOld(ctx context.Context) (int, error)
}

// Notifications notes what people are to be told of, and sends what is due. Look returns in how many
// workspaces it noted something, Send how many messages it sent.
type Notifications interface {
	Look(ctx context.Context) (int, error)
	Send(ctx context.Context) (int, error)
}

// Budgets begins the periods of budgets and ends raises whose time is over, and forecasts
// whether the money lasts. Each call returns how many budgets.
type Budgets interface {
	Sweep(ctx context.Context) (int, error)
	Foresee(ctx context.Context) (int, error)
}

// Blobs deletes contents that nothing refers to any more, and encrypts the keys of the others
// with the present keys of their workspaces. Each call returns how many.
type Blobs interface {
	Collect(ctx context.Context) (int, error)
	RotateKeys(ctx context.Context) (int, error)
}

// Webhooks encrypts the secrets of webhooks with the present keys of their workspaces, and returns how
// many webhooks had another one.
type Webhooks interface {
	RotateWebhookKeys(ctx context.Context) (int, error)
}

const (
	// reportEvery is the shortest time between two reports of what was done.
	reportEvery = 5 * time.Second
	// lastReportTimeout bounds the report at the end of a term.
	lastReportTimeout = 2 * time.Second
	// slowTimeout bounds a cycle that goes through all workspaces.
	slowTimeout = 5 * time.Minute
)

// term is one term in which this process leads.
type term struct {
	*Service
	*leadership.Term
	counters *counters
}

// lead does the coordinator's work until ctx ends.
func (s *Service) lead(ctx context.Context, t *leadership.Term) {
	metrics.CoordinatorTerms.Inc()
	led := &term{Service: s, Term: t, counters: newCounters()}
	led.writeServerLine(ctx, levelInfo, "Leads from now on.")
	_ = runloop.Run(ctx, s.log, led.loops()...)
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastReportTimeout)
	defer cancel()
	if err := led.report(limited); err != nil {
		s.log.Warn("the last cycles were not written down", "term", t.Number, "error", err)
		return
	}
	led.writeServerLine(limited, levelInfo, "Leads no longer.")
}

func (t *term) loops() []runloop.Loop {
	w := t.work
	return []runloop.Loop{
		{Name: "reaper", Every: 3 * time.Second, Jitter: time.Second, Do: t.counted(takenBack, w.Recovery.Reap)},
		{Name: "promotion", Every: 2 * time.Second, Jitter: time.Second, Do: t.counted(promoted, w.Promotion.Promote)},
		{Name: "stops", Every: 2 * time.Second, Jitter: time.Second, Do: t.cycle(uncounted(w.Stops.EnforceStops))},
		{Name: "pools", Every: time.Minute, Jitter: 5 * time.Second, Timeout: slowTimeout, Do: t.cycle(uncounted(w.Pools.Sample))},
		{Name: "ageing", Every: 10 * time.Second, Jitter: 2 * time.Second, Do: t.cycle(uncounted(w.Ageing.AgeReady))},
		{Name: "preemption", Every: 2 * time.Second, Jitter: time.Second, Do: t.cycle(uncounted(w.Preempt.Preempt))},
		{Name: "health", Every: 5 * time.Second, Jitter: time.Second, Do: t.counted(agentsDead, t.checkHealth)},
		{Name: "warnings", Every: 15 * time.Second, Jitter: 2 * time.Second, Do: t.counted(warned, w.Recovery.Warn)},
		{Name: "time-outs", Every: 15 * time.Second, Jitter: 2 * time.Second, Do: t.counted(timedOut, w.Recovery.TimeOut)},
		{Name: "dependencies", Every: time.Minute, Jitter: 10 * time.Second, Timeout: slowTimeout,
			Do: t.counted(promoted, restingWhenIdle(w.Promotion.SweepDependencies))},
		{Name: "cycles", Every: time.Minute, Jitter: 10 * time.Second, Timeout: slowTimeout,
			Do: t.counted(cyclesFailed, restingWhenIdle(w.Recovery.FailCycles))},
		{Name: "counts", Every: 10 * time.Second, Jitter: 2 * time.Second, Do: t.cycle(func(ctx context.Context) error {
			_, err := t.sumUp(ctx)
			return err
		})},
		{Name: "queue hours", Every: time.Minute, Jitter: 10 * time.Second, Timeout: slowTimeout, Do: t.cycle(t.markHours(time.Now))},
		{Name: "statistics", Every: time.Second, Jitter: 200 * time.Millisecond, Do: t.cycle(uncounted(t.analyzeGrown))},
		{Name: "seals", Every: 5 * time.Second, Jitter: time.Second, Do: t.cycle(func(ctx context.Context) error {
			_, err := w.Seals.Seal(ctx)
			return err
		})},
		{Name: "costs", Every: time.Minute, Jitter: 10 * time.Second, Timeout: slowTimeout, Do: t.cycle(func(ctx context.Context) error {
			_, err := t.untilNothingIsLeft(w.Costs.Extend)(ctx)
			return err
		})},
		{Name: "prices", Every: 5 * time.Second, Jitter: time.Second, Timeout: slowTimeout, Do: t.cycle(uncounted(w.Prices.PriceUsage))},
		{Name: "merges", Every: 2 * time.Second, Jitter: time.Second, Timeout: slowTimeout, Do: t.cycle(uncounted(w.Merges.MergeApproved))},
		{Name: "verifications", Every: 2 * time.Second, Jitter: time.Second, Timeout: slowTimeout,
			Do: t.cycle(uncounted(w.Verifications.EndVerifications))},
		{Name: "messages", Every: 500 * time.Millisecond, Jitter: 100 * time.Millisecond, Timeout: slowTimeout,
			Do: t.cycle(uncounted(w.Messages.Bridge))},
		{Name: "old messages", Every: time.Hour, Jitter: 10 * time.Minute, Timeout: slowTimeout,
			Do: t.cycle(uncounted(t.untilNothingIsLeft(w.Messages.DropOld)))},
		{Name: "notifications", Every: time.Second, Jitter: 200 * time.Millisecond, Timeout: slowTimeout,
			Do: t.cycle(uncounted(w.Notify.Look))},
		{Name: "notification deliveries", Every: time.Second, Jitter: 200 * time.Millisecond, Timeout: slowTimeout,
			Do: t.cycle(uncounted(w.Notify.Send))},
		{Name: "budgets", Every: 10 * time.Second, Jitter: 2 * time.Second, Do: t.cycle(uncounted(w.Budgets.Sweep))},
		{Name: "projections", Every: time.Minute, Jitter: 5 * time.Second, Timeout: slowTimeout, Do: t.cycle(uncounted(w.Budgets.Foresee))},
		{Name: "sessions", Every: 10 * time.Minute, Jitter: time.Minute, Do: t.cycle(w.People.Expire)},
		{Name: "compaction", Every: 10 * time.Minute, Jitter: time.Minute, Timeout: slowTimeout,
			Do: t.counted(jobsCompacted, w.Events.Compact)},
		{Name: "job logs", Every: 10 * time.Minute, Jitter: time.Minute, Timeout: slowTimeout,
			Do: t.counted(linesExpired, t.untilNothingIsLeft(w.JobLogs.ExpireLogs))},
		{Name: "transcripts", Every: 10 * time.Minute, Jitter: time.Minute, Timeout: slowTimeout,
			Do: t.cycle(uncounted(t.untilNothingIsLeft(w.Transcripts.ExpireTranscripts)))},
		{Name: "decisions", Every: 10 * time.Minute, Jitter: time.Minute, Timeout: slowTimeout,
			Do: t.cycle(uncounted(t.untilNothingIsLeft(w.Decisions.ExpireDecisions)))},
		{Name: "offers", Every: time.Minute, Jitter: 10 * time.Second, Timeout: slowTimeout,
			Do: t.cycle(uncounted(t.untilNothingIsLeft(w.Decisions.ExpireOffers)))},
		{Name: "dead offers", Every: 10 * time.Minute, Jitter: time.Minute, Timeout: slowTimeout,
			Do: t.cycle(uncounted(t.untilNothingIsLeft(w.Dead.ExpireDeadOffers)))},
		{Name: "words of jobs", Every: 500 * time.Millisecond, Jitter: 100 * time.Millisecond, Timeout: slowTimeout,
			Do: t.cycle(uncounted(w.Words.IndexTexts))},
		{Name: "words of messages", Every: 500 * time.Millisecond, Jitter: 100 * time.Millisecond, Timeout: slowTimeout,
			Do: t.cycle(uncounted(w.Messages.IndexWords))},
		{Name: "words of logs", Every: 10 * time.Second, Jitter: 2 * time.Second, Timeout: slowTimeout,
			Do: t.cycle(uncounted(t.untilNothingIsLeft(w.Words.IndexLogs)))},
		{Name: "coordinator log", Every: 10 * time.Minute, Jitter: time.Minute, Timeout: slowTimeout,
			Do: t.counted(linesExpired, t.untilNothingIsLeft(t.expireLog))},
		{Name: "key rotation", Every: 15 * time.Second, Jitter: 5 * time.Second, Timeout: slowTimeout,
			Do: t.counted(secretsMoved, t.untilNothingIsLeft(w.Secrets.RotateSecrets))},
		{Name: "blob keys", Every: 15 * time.Second, Jitter: 5 * time.Second, Timeout: slowTimeout,
			Do: t.counted(secretsMoved, t.untilNothingIsLeft(w.Blobs.RotateKeys))},
		{Name: "webhook keys", Every: 15 * time.Second, Jitter: 5 * time.Second, Do: t.counted(secretsMoved, w.Webhooks.RotateWebhookKeys)},
		{Name: "blobs", Every: time.Minute, Jitter: 10 * time.Second, Timeout: slowTimeout,
			Do: t.cycle(uncounted(t.untilNothingIsLeft(w.Blobs.Collect)))},
		{Name: "report", Every: reportEvery, Kick: t.counters.firstCycle.C(), Do: t.report},
	}
}

// counted returns a cycle whose result is added to a counter.
func (t *term) counted(c counter, do func(context.Context) (int, error)) func(context.Context) error {
	return t.cycle(func(ctx context.Context) error {
		n, err := do(ctx)
		t.counters.add(c, n)
		return err
	})
}

// uncounted returns a cycle whose result is not counted.
func uncounted(do func(context.Context) (int, error)) func(context.Context) error {
	return func(ctx context.Context) error {
		_, err := do(ctx)
		return err
	}
}

// untilNothingIsLeft repeats a bounded part of the work until nothing is left or the cycle's time
// is over: one part in each cycle would not keep up with what is written faster.
func (t *term) untilNothingIsLeft(do func(context.Context) (int, error)) func(context.Context) (int, error) {
	return func(ctx context.Context) (total int, err error) {
		for n := 1; n > 0 && err == nil && t.Trusted() && ctx.Err() == nil; total += n {
			n, err = do(ctx)
		}
		return total, err
	}
}

// cycle returns a cycle of a loop that does nothing where this process does not lead any more:
// a process that was stopped for a while goes on here before its context has ended.
func (t *term) cycle(do func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		if !t.Trusted() {
			return nil
		}
		err := do(ctx)
		if err == nil {
			t.counters.addCycle()
		}
		return err
	}
}
