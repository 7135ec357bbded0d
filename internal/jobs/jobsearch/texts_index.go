package jobsearch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/runloop"
)

const (
	// textsPage is how many events are looked at for jobs whose words are to be written, in one
	// transaction; walkPage of how many jobs that were there before.
	textsPage = 500
	walkPage  = 500
	// roundPages is how many pages of a workspace one call works off at most.
	roundPages = 50
	// writePage is of how many jobs texts are read at once.
	writePage = 50
	// maxText is how much of each text has its words kept, in characters.
	maxText = 100_000
)

// textFields are the fields of a job whose words it is found by; its key never changes.
var textFields = []string{"title", "body", "question", "answer", "last_error"}

// Subscriber receives the wake-ups of a notifier.
type Subscriber interface {
	Subscribe(prefix string, fn func(topic string)) (cancel func())
}

// Index writes the words that jobs are found by, outside of the transactions that make and
// change jobs (ADR 79). Any number of processes may write them at once.
type Index struct {
	db      *db.DB
	changed eventlog.Changed
	cancel  func()
}

// NewIndex returns the index of the jobs kept in d. Close ends its subscription.
func NewIndex(d *db.DB, wake Subscriber) *Index {
	x := &Index{db: d}
	x.cancel = wake.Subscribe(eventlog.Topics, x.changed.Note)
	return x
}

// Close ends the subscription of x.
func (x *Index) Close() { x.cancel() }

// IndexTexts writes the words of jobs that were made, or whose texts were changed, since the
// last call. It returns how many events it looked at.
func (x *Index) IndexTexts(ctx context.Context) (total int, err error) {
	list, all := x.changed.Take(time.Now())
	if all {
		if list, err = workspaces(ctx, x.db); err != nil {
			return 0, err
		}
	}
	for _, workspace := range list {
		n, failed := x.indexTexts(ctx, workspace)
		total += n
		if failed != nil {
			err = errors.Join(err, fmt.Errorf("words of jobs of %s: %w", workspace, failed))
			x.changed.Note(eventlog.Topic(workspace))
		}
	}
	return total, err
}

// indexTexts works the log of a workspace off, page by page, with a rest between them. What it
// does not get to, and what a transaction that still runs keeps back, is for the next call.
func (x *Index) indexTexts(ctx context.Context, workspace ids.ID) (total int, err error) {
	more, n, held := true, 0, false
	for page := 0; more && page < roundPages && ctx.Err() == nil; page++ {
		began := time.Now()
		err = x.db.In(ctx, db.Workspace(workspace), func(tx db.Tx) error {
			p, err := lockPlaceTx(ctx, tx, workspace)
			switch {
			case err != nil:
				return err
			case p.walked != nil:
				n, err = p.walkTx(ctx, tx, workspace)
				return err
			}
			n, held, err = p.followTx(ctx, tx, workspace)
			more = n == textsPage
			return err
		}, db.ByIndex)
		if err != nil {
			return total, err
		}
		if total += n; more {
			runloop.Rest(ctx, began)
		}
	}
	if held || more {
		x.changed.Note(eventlog.Topic(workspace))
	}
	return total, ctx.Err()
}

// walkTx writes the words of the next jobs of those that were there before, and returns how
// many these are.
func (p place) walkTx(ctx context.Context, tx db.Tx, workspace ids.ID) (int, error) {
	list, err := q.JobWordsWalk(ctx, tx, workspace, *p.walked, walkPage)
	if err != nil {
		return 0, err
	}
	if p.walked = nil; len(list) == walkPage {
		p.walked = &list[walkPage-1]
	}
	return len(list), p.writeTx(ctx, tx, workspace, list)
}

// followTx writes the words of the jobs of the next page of events. It returns how many events
// that were, and whether a transaction keeps back further ones.
func (p place) followTx(ctx context.Context, tx db.Tx, workspace ids.ID) (n int, held bool, err error) {
	jobs, n, end, err := eventlog.TailJobsTx(ctx, tx, workspace, p.log, textsPage, textFields...)
	if err != nil {
		return 0, false, err
	}
	if n < textsPage {
		if held, err = eventlog.HeldBackTx(ctx, tx, workspace, end); err != nil || n == 0 {
			return 0, held, err
		}
	}
	p.log = end
	return n, held, p.writeTx(ctx, tx, workspace, jobs)
}

// writeTx writes the words of jobs and moves the place on to p.
func (p place) writeTx(ctx context.Context, tx db.Tx, workspace ids.ID, jobs []ids.ID) error {
	for page := range slices.Chunk(jobs, writePage) {
		if err := writeWordsTx(ctx, tx, workspace, page, p.era); err != nil {
			return err
		}
	}
	p.era = p.era.After(len(jobs))
	return p.saveTx(ctx, tx, workspace)
}
