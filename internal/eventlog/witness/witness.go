package witness

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/internal/eventlog/seal"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/runloop"
)

const (
	// readEvery is the shortest time between two looks at the logs.
	readEvery = 250 * time.Millisecond
	// readRows is how many events one round reads of a log.
	readRows = 2000
	// roundLogs is how many logs one round looks at; the others follow in the next one.
	roundLogs = 200
)

// Event is what is kept of an event.
type Event struct {
	ID   int64
	At   time.Time
	Type eventlog.Type
	Job  *ids.ID
	Key  string // of a job that the event made; "" for others
}

// place is a place in a log: after the event with that id of that transaction.
type place struct {
	xid string
	id  int64
}

// News calls fn when something was appended to a log.
type News interface {
	Subscribe(prefix string, fn func(topic string)) (cancel func())
}

// Witness writes down the events of all logs.
type Witness struct {
	db   *db.DB
	news News
	file file
	log  *slog.Logger

	mu  sync.Mutex
	due map[ids.ID]bool
	all bool // every log may have gone on
	// again says that the database is another one: no place of the one before is in it.
	again bool

	// highest is the highest transaction that was read.
	highest atomic.Uint64

	// Read and written by the loop alone.
	begin  string // no log was read before this transaction
	places map[ids.ID]place
}

// New returns the witness of the logs kept in d, which writes to the directory dir.
func New(d *db.DB, keys *seal.Keys, news News, dir string, log *slog.Logger) *Witness {
	return &Witness{db: d, news: news, file: file{dir: dir, keys: keys}, log: log, due: map[ids.ID]bool{}}
}

// Run writes down what is appended to the logs from now on, until ctx ends.
func (w *Witness) Run(ctx context.Context) error {
	defer w.news.Subscribe(eventlog.Topics, w.published)()
	w.BeginAgain()
	return runloop.Run(ctx, w.log, runloop.Loop{Name: "witness", Every: readEvery, Do: w.read})
}

// BeginAgain has the witness read from the end of the logs on. The database is another one than
// before: its transactions may have the numbers of others that were lost.
func (w *Witness) BeginAgain() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.again = true
}

// Highest returns the highest number of a transaction whose events were read, 0 before the first.
func (w *Witness) Highest() uint64 { return w.highest.Load() }

// published notes which log went on.
func (w *Witness) published(topic string) {
	workspace, ok := ids.Parse(strings.TrimPrefix(topic, eventlog.Topics))
	w.mu.Lock()
	defer w.mu.Unlock()
	if ok {
		w.due[workspace] = true
	} else {
		w.all = true
	}
}

// read reads the logs that went on, and writes down what is new in them.
func (w *Witness) read(ctx context.Context) error {
	due, all, again := w.take()
	if again {
		if err := w.beginAtHead(ctx); err != nil {
			w.BeginAgain()
			w.putBack(due, all)
			return err
		}
	}
	if all {
		err := w.db.In(ctx, db.System, func(tx db.Tx) error { return dueTx(ctx, tx, due) }, db.OneRead)
		if err != nil {
			w.putBack(due, true)
			return err
		}
	}
	n := 0
	for workspace := range due {
		if n++; n > roundLogs {
			break
		}
		more, err := w.readLog(ctx, workspace)
		if err != nil {
			w.putBack(due, false)
			return err
		}
		if !more {
			delete(due, workspace)
		}
	}
	w.putBack(due, false)
	return nil
}

func (w *Witness) beginAtHead(ctx context.Context) error {
	w.places = map[ids.ID]place{}
	return w.db.In(ctx, db.None, func(tx db.Tx) (err error) {
		w.begin, err = headTx(ctx, tx)
		return err
	}, db.OneRead)
}

// readLog writes down what is new in a log, and reports whether there is more.
func (w *Witness) readLog(ctx context.Context, workspace ids.ID) (more bool, err error) {
	at, known := w.places[workspace]
	if !known {
		at = place{xid: w.begin}
	}
	var list []Event
	err = w.db.In(ctx, db.Workspace(workspace), func(tx db.Tx) (err error) {
		list, at, err = tailTx(ctx, tx, workspace, at, readRows)
		if err == nil && len(list) < readRows {
			more, err = followsTx(ctx, tx, workspace, at)
		}
		return err
	}, db.ByIndex)
	if err != nil {
		return false, err
	}
	if len(list) > 0 {
		if err := w.file.add(batch{Workspace: workspace, Xid: at.xid, Events: list}); err != nil {
			return false, err
		}
		w.places[workspace] = at
		w.highest.Store(max(w.highest.Load(), number(at.xid)))
	}
	return more || len(list) == readRows, nil
}

// take returns the logs that may have gone on, and whether the database is another one.
func (w *Witness) take() (due map[ids.ID]bool, all, again bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	due, all, again = w.due, w.all, w.again
	w.due, w.all, w.again = map[ids.ID]bool{}, false, false
	return due, all, again
}

// putBack leaves logs to the next round.
func (w *Witness) putBack(due map[ids.ID]bool, all bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for workspace := range due {
		w.due[workspace] = true
	}
	w.all = w.all || all
}
