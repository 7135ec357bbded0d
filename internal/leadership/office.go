package leadership

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"fleetboard/db"
	"fleetboard/internal/runloop"
	"fleetboard/internal/signal"
)

const (
	// lease is what the database grants from the moment it has the request.
	lease = 15 * time.Second
	// trust is how long the leader believes in a grant, from the moment it asked.
	trust = 12 * time.Second
	// renewEvery is the wait between two renewals, retryEvery after one that failed.
	renewEvery = 5 * time.Second
	retryEvery = time.Second
	// askTimeout bounds one request, so that another one fits before trust ends.
	askTimeout = 3 * time.Second
	// lookEvery is how often a candidate looks for an office that was given back.
	lookEvery = 5 * time.Second
)

var (
	errRefused = errors.New("another process may lead")
	errSilence = errors.New("the lease was not renewed in time")
)

// register is where the office is written down.
type register interface {
	// seek begins a term, or says how long the leader's lease still lasts.
	seek(ctx context.Context) (won grant, left time.Duration, err error)
	// renew reports whether the lease of a term goes on.
	renew(ctx context.Context, term int64) (bool, error)
	resign(ctx context.Context, term int64) error
}

// grant is a term that was begun; the zero value is none.
type grant struct {
	term int64
}

// Office is led by one process at a time.
type Office struct {
	name, holder string
	db           *db.DB
	register     register
	log          *slog.Logger
}

// New returns the office of that name, for a process that calls itself holder.
// A holder's name is used once: it is how the database knows it again.
func New(d *db.DB, name, holder string, log *slog.Logger) *Office {
	return &Office{name: name, holder: holder, db: d, register: &row{db: d, name: name, holder: holder},
		log: log.With("office", name)}
}

// Hold seeks the office until ctx ends, and calls lead in each term that it gets.
// The context of lead ends when this process trusts itself no longer; lead is to
// return soon then, for the office is not sought before. Where lead returns
// earlier the office is given up. A database that is away is logged once and
// asked again after 5, 10, 20 and then every 40 seconds. Hold returns nil.
func (o *Office) Hold(ctx context.Context, lead func(ctx context.Context, term *Term)) error {
	failures := 0
	for ctx.Err() == nil {
		sent := time.Now()
		won, left, err := o.seek(ctx)
		if ctx.Err() != nil && won.term == 0 {
			break
		}
		if failures = o.tell(err, failures); failures > 0 {
			_ = signal.Sleep(ctx, runloop.Backoff(failures))
			continue
		}
		if won.term > 0 {
			o.serve(ctx, won, sent, lead)
			left = retryEvery // who has just lost it is not the first to ask again
		}
		_ = signal.Sleep(ctx, min(max(left, retryEvery/4), lookEvery))
	}
	return nil
}

// tell logs a failure when it begins and when it ends, and counts those in a row.
func (o *Office) tell(err error, failures int) int {
	switch {
	case err == nil && failures > 0:
		o.log.Info("the office can be sought again", "failures", failures)
		return 0
	case err == nil:
		return 0
	case failures == 0:
		o.log.Warn("the office cannot be sought", "error", err)
	}
	return failures + 1
}

func (o *Office) seek(ctx context.Context) (grant, time.Duration, error) {
	limited, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	return o.register.seek(limited)
}

// serve is one term, from its grant to the end of its work.
func (o *Office) serve(ctx context.Context, won grant, sent time.Time, lead func(context.Context, *Term)) {
	leading, end := context.WithCancelCause(ctx)
	t := newTerm(won, o.holder, sent, func() { end(errSilence) })
	defer t.timer.Stop()
	o.log.Info("leads", "term", t.Number)
	over := make(chan struct{})
	go func() {
		defer close(over)
		defer end(nil)
		lead(leading, t)
	}()
	o.keep(leading, t, end)
	<-over
	why := context.Cause(leading)
	if errors.Is(why, errSilence) || errors.Is(why, errRefused) {
		o.log.Warn("leads no longer", "term", t.Number, "error", why)
		return
	}
	o.resign(ctx, t.Number)
}

// keep renews the lease of a term until leading ends.
func (o *Office) keep(leading context.Context, t *Term, end context.CancelCauseFunc) {
	wait := renewEvery
	for signal.Sleep(leading, wait) == nil {
		sent := time.Now()
		limited, cancel := context.WithTimeout(leading, askTimeout)
		granted, err := o.register.renew(limited, t.Number)
		cancel()
		switch {
		case err != nil:
			wait = retryEvery
		case !granted:
			end(errRefused)
		default:
			wait = renewEvery
			t.believe(sent)
		}
	}
}

// resign gives the lease back, so that another process need not wait for its end.
func (o *Office) resign(ctx context.Context, term int64) {
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), askTimeout)
	defer cancel()
	if err := o.register.resign(limited, term); err != nil {
		o.log.Warn("the office was not given back", "term", term, "error", err)
		return
	}
	o.log.Info("gave the office back", "term", term)
}
