package leadership

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/runloop"
	"github.com/fleetboard/fleetboard/internal/signal"
)

const (
	// leaseDuration is what the database grants from the moment it has the request.
	leaseDuration = 15 * time.Second
	// trustDuration is how long the leader relies on a granted lease, counted from the
	// moment it sent the request.
	trustDuration = 12 * time.Second
	// renewEvery is the wait between two renewals, retryEvery after one that failed.
	renewEvery = 5 * time.Second
	retryEvery = time.Second
	// requestTimeout bounds one request, so that another one fits before trust ends.
	requestTimeout = 3 * time.Second
	// pollEvery is how often a candidate checks whether the leader has resigned, minPause the
	// shortest wait between two requests for the lease.
	pollEvery = 5 * time.Second
	minPause  = retryEvery / 4
)

var (
	errRefused    = errors.New("another process may lead")
	errTrustEnded = errors.New("the lease was not renewed in time")
)

// leaseStore stores the lease of an election.
type leaseStore interface {
	// acquire begins a term and returns its number, or 0 and how long the leader's
	// lease still lasts.
	acquire(ctx context.Context) (term int64, left time.Duration, err error)
	// renew reports whether it extended the lease of a term.
	renew(ctx context.Context, term int64) (bool, error)
	resign(ctx context.Context, term int64) error
}

// Election decides which of several processes leads.
type Election struct {
	name, holder string
	db           *db.DB
	leases       leaseStore
	log          *slog.Logger
}

// New returns the election of that name, for a process that calls itself holder.
// A holder's name is used once: it is how the database recognizes the process.
func New(d *db.DB, name, holder string, log *slog.Logger) *Election {
	return &Election{name: name, holder: holder, db: d, leases: &store{db: d, name: name, holder: holder},
		log: log.With("election", name)}
}

// Run is a candidate until ctx ends, and calls lead in each term that it wins. The context of
// lead ends when this process no longer trusts its lease; lead must return soon after, because
// the candidate waits for it. If lead returns earlier, the process resigns. A database that
// cannot be reached is logged once and tried again after 5, 10, 20 and then every 40 seconds.
// Run returns nil.
func (e *Election) Run(ctx context.Context, lead func(ctx context.Context, term *Term)) error {
	failures := 0
	for ctx.Err() == nil {
		sent := time.Now()
		term, left, err := e.acquire(ctx)
		if ctx.Err() != nil && term == 0 { // a lease that came in the last moment is given back by runTerm
			break
		}
		if failures = e.noteAttempt(err, failures); failures > 0 {
			_ = signal.Sleep(ctx, runloop.Backoff(failures))
			continue
		}
		if term > 0 {
			e.runTerm(ctx, term, sent, lead)
			left = retryEvery // give the others a chance
		}
		_ = signal.Sleep(ctx, min(max(left, minPause), pollEvery))
	}
	return nil
}

// noteAttempt returns how many attempts failed in a row, and logs the first failure and the end of
// failures.
func (e *Election) noteAttempt(err error, failures int) int {
	switch {
	case err == nil && failures > 0:
		e.log.Info("leadership can be acquired again", "failures", failures)
		return 0
	case err == nil:
		return 0
	case failures == 0:
		e.log.Warn("leadership cannot be acquired", "error", err)
	}
	return failures + 1
}

func (e *Election) acquire(ctx context.Context) (term int64, left time.Duration, err error) {
	limited, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	return e.leases.acquire(limited)
}

// runTerm runs lead for one term, from its first lease until lead has returned.
func (e *Election) runTerm(ctx context.Context, term int64, sent time.Time, lead func(context.Context, *Term)) {
	leadCtx, end := context.WithCancelCause(ctx)
	t := newTerm(term, e.holder, sent, func() { end(errTrustEnded) })
	defer t.timer.Stop()
	e.log.Info("leads", "term", t.Number)
	leadReturned := make(chan struct{})
	go func() {
		defer close(leadReturned)
		defer end(nil)
		lead(leadCtx, t)
	}()
	e.renewUntilEnd(leadCtx, t, end)
	<-leadReturned
	cause := context.Cause(leadCtx)
	if errors.Is(cause, errTrustEnded) || errors.Is(cause, errRefused) {
		e.log.Warn("leads no longer", "term", t.Number, "error", cause)
		return
	}
	e.resign(ctx, t.Number)
}

// renewUntilEnd renews the lease of a term until leadCtx ends.
func (e *Election) renewUntilEnd(leadCtx context.Context, t *Term, end context.CancelCauseFunc) {
	wait := renewEvery
	for signal.Sleep(leadCtx, wait) == nil {
		sent := time.Now()
		limited, cancel := context.WithTimeout(leadCtx, requestTimeout)
		granted, err := e.leases.renew(limited, t.Number)
		cancel()
		switch {
		case err != nil:
			wait = retryEvery
		case !granted:
			end(errRefused)
		default:
			wait = renewEvery
			t.extendTrust(sent)
		}
	}
}

// resign gives the lease back, so that another process need not wait for its end.
func (e *Election) resign(ctx context.Context, term int64) {
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), requestTimeout)
	defer cancel()
	if err := e.leases.resign(limited, term); err != nil {
		e.log.Warn("the resignation failed", "term", term, "error", err)
		return
	}
	e.log.Info("resigned", "term", term)
}
