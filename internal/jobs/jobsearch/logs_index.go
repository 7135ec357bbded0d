package jobsearch

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/internal/fulltext"
	"github.com/fleetboard/fleetboard/internal/ids"
)

const (
	// eventsPage is how many events of a workspace a call of IndexLogs looks at, indexPage of
	// how many attempts it writes the words.
	eventsPage = 1000
	indexPage  = 50
	// logEnds is how much of a log's beginning has its words kept, and how much of its end, in
	// bytes of texts.
	logEnds = 256 << 10
	// blockSize and blockLines are how much of a log is a block: what a hit is looked for in.
	blockSize  = 32 << 10
	blockLines = 400
	// linesPage is how many lines are read at once.
	linesPage = 500
)

// attempt is one on a job.
type attempt struct {
	job   ids.ID
	epoch int64
}

// due is a part of a workspace's log of events: the attempts of its jobs that have ended,
// with lines and without words, and the places before and after it.
type due struct {
	attempts   []attempt
	events     int
	after, end eventlog.Cursor
	era        fulltext.Era
}

// IndexLogs writes the words of logs of attempts that have ended since the last call, of each
// workspace a bounded number. It returns how many events and attempts it looked at.
//
// An attempt ends in a transaction that appends an event of its job, and after its end
// nobody writes to its log. So it reads the events in the order of the log (ADR 3), which
// shows none before those that commit earlier, and looks at the attempts of their jobs.
func (x *Index) IndexLogs(ctx context.Context) (total int, err error) {
	list, err := workspaces(ctx, x.db)
	for _, workspace := range list {
		if ctx.Err() != nil {
			return total, errors.Join(err, ctx.Err())
		}
		n, failed := x.indexWorkspace(ctx, workspace)
		total += n
		if failed != nil {
			err = errors.Join(err, fmt.Errorf("words of logs of %s: %w", workspace, failed))
		}
	}
	return total, err
}

// indexWorkspace writes the words of some attempts. Where there are more behind the same
// events the next call looks at these events again; so does whoever was interrupted.
func (x *Index) indexWorkspace(ctx context.Context, workspace ids.ID) (n int, err error) {
	var d due
	err = x.db.In(ctx, db.Workspace(workspace), func(tx db.Tx) error {
		d, err = dueTx(ctx, tx, workspace)
		return err
	}, db.ByIndex)
	if err != nil || d.events == 0 {
		return 0, err
	}
	for _, a := range d.attempts {
		err := x.db.In(ctx, db.Workspace(workspace), func(tx db.Tx) error {
			blocks, err := indexTx(ctx, tx, workspace, a, d.era)
			d.era = d.era.After(blocks)
			return err
		})
		if err != nil {
			return n, err
		}
		n++
	}
	if len(d.attempts) == indexPage {
		d.end = d.after
	} else {
		n += d.events
	}
	return n, x.db.In(ctx, db.Workspace(workspace), func(tx db.Tx) error { return savePlaceTx(ctx, tx, workspace, d.end, d.era) })
}

// indexTx writes the words of what an attempt wrote, and returns of how many blocks.
func indexTx(ctx context.Context, tx db.Tx, workspace ids.ID, a attempt, era fulltext.Era) (int, error) {
	var log logWords
	head, err := log.read(0, func(at int64) ([]logLine, error) { return headTx(ctx, tx, workspace, a, at) })
	if err != nil {
		return 0, err
	}
	_, err = log.read(math.MaxInt64, func(at int64) ([]logLine, error) { return tailTx(ctx, tx, workspace, a, head, at) })
	if err != nil {
		return 0, err
	}
	return len(log.blocks), addWordsTx(ctx, tx, workspace, a, era, log.blocks)
}

// logWords are the words of a log, block by block.
type logWords struct{ blocks []blockWords }

// blockWords are the words of a block, each once, the ids of its first and last line, and when
// its last line came.
type blockWords struct {
	words       map[string]struct{}
	first, last int64
	lastAt      time.Time
	size, lines int
}

// read takes lines in, page by page from a line on, until they are logEnds or there are no
// more. It returns the id of the last one.
func (w *logWords) read(at int64, page func(at int64) ([]logLine, error)) (last int64, err error) {
	b := &blockWords{size: blockSize}
	for size := 0; size < logEnds; {
		list, err := page(at)
		if err != nil {
			return at, err
		}
		for _, l := range list {
			if size >= logEnds {
				break
			}
			if b.size >= blockSize || b.lines >= blockLines {
				w.blocks = append(w.blocks, blockWords{words: map[string]struct{}{}, first: l.id})
				b = &w.blocks[len(w.blocks)-1]
			}
			b.add(l)
			at, size = l.id, size+len(l.event)+len(l.message)
		}
		if len(list) < linesPage {
			return at, nil
		}
	}
	return at, nil
}

func (b *blockWords) add(l logLine) {
	for _, text := range []string{l.event, l.message} {
		for word := range fulltext.Words(text) {
			b.words[word.Text] = struct{}{}
		}
	}
	if l.at.After(b.lastAt) {
		b.lastAt = l.at
	}
	b.first, b.last = min(b.first, l.id), max(b.last, l.id)
	b.size, b.lines = b.size+len(l.event)+len(l.message), b.lines+1
}
