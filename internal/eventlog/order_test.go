package eventlog_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/db/dbtest"
	"github.com/fleetboard/fleetboard/e2e/envtest"
	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// writers are as many as leave connections for the readers.
const writers = 5

// Promise P6: writers take ids, hold their transactions open for as long as they
// like and commit in any order, or not at all. Whoever tails the log gets every
// event once, all in the same order, also who breaks off in the middle of a page
// again and again and goes on from the last event it read. FLEETBOARD_TAIL_EVENTS says how many.
func TestNobodyWhoTailsEverSkipsAnEvent(t *testing.T) {
	t.Parallel()
	events := envtest.Number(t, "FLEETBOARD_TAIL_EVENTS", 2000)
	d := dbtest.New(t)
	dbfactory.AnyFacts(t, d)
	workspace := dbfactory.Workspace(t, d)
	f := &flood{t: t, db: d, workspace: workspace, committed: map[string]bool{}}
	var writing, reading sync.WaitGroup
	for n := range writers {
		writing.Go(func() { f.write(n, events) })
	}
	var steady, broken []string
	reading.Go(func() { steady = f.tail(false) })
	reading.Go(func() { broken = f.tail(true) })
	writing.Wait()
	f.ended.Store(true)
	reading.Wait()

	for who, got := range map[string][]string{"the steady reader": steady, "the one who breaks off": broken} {
		seen := map[string]int{}
		for _, name := range got {
			seen[name]++
			if !f.committed[name] {
				t.Errorf("%s got %s, which was never committed", who, name)
			}
			if seen[name] == 2 {
				t.Errorf("%s got %s twice", who, name)
			}
		}
		missing := 0
		for name := range f.committed {
			if seen[name] == 0 {
				missing++
			}
		}
		if missing > 0 {
			t.Errorf("%s never got %d of %d events", who, missing, len(f.committed))
		}
	}
	if fmt.Sprint(steady) != fmt.Sprint(broken) {
		t.Error("the two read the log in different orders")
	}
}

// flood is a log that is written by many at once.
type flood struct {
	t         *testing.T
	db        *db.DB
	workspace ids.ID

	mu        sync.Mutex
	committed map[string]bool
	ended     atomic.Bool // nobody writes any more
}

// write commits transactions of a few events until all writers have enough. Between
// their events and before their end they wait, most of them shortly.
func (f *flood) write(writer, enough int) {
	for n := 0; f.count() < enough; n++ {
		var names []string
		err := f.db.In(f.t.Context(), db.Workspace(f.workspace), func(tx db.Tx) error {
			for part := range 1 + rand.IntN(3) {
				name := fmt.Sprintf("flood.%d.%d.%d", writer, n, part)
				e := eventlog.Event{Type: eventlog.Type(name), Actor: tenancy.Actor{Kind: tenancy.KindSystem, Name: "test"}}
				if err := eventlog.AppendTx(f.t.Context(), tx, f.workspace, e); err != nil {
					return err
				}
				names = append(names, name)
				f.dawdle()
			}
			if rand.IntN(10) == 0 {
				return errChangedMind
			}
			return nil
		})
		if err == errChangedMind { //nolint:errorlint // it comes back as it went in
			continue
		}
		if err != nil {
			f.t.Error(err)
			return
		}
		f.mu.Lock()
		for _, name := range names {
			f.committed[name] = true
		}
		f.mu.Unlock()
	}
}

// count returns how many events were committed.
func (f *flood) count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.committed)
}

var errChangedMind = fmt.Errorf("the writer changed its mind")

// dawdle keeps a transaction open for a moment, now and then for a long one.
func (f *flood) dawdle() {
	pause := time.Duration(rand.IntN(10)) * time.Millisecond
	if rand.IntN(20) == 0 {
		pause = time.Duration(rand.IntN(400)) * time.Millisecond
	}
	<-time.After(pause)
}

// tail reads pages of any size until nobody writes any more and everything that
// was committed is there, or does not come. A reader that breaks off loses the
// rest of its page and goes on from the last event's place, as text.
func (f *flood) tail(breaksOff bool) []string {
	log, who := eventlog.New(f.db, nil), tenancy.System(f.workspace, "test")
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	var got []string
	var at eventlog.Cursor
	// Long transactions of other tests on the same server keep the end back.
	const patience = 24_000 // ticks, two minutes
	for idle := 0; idle < patience; idle++ {
		ended := f.ended.Load()
		list, next, err := log.Tail(f.t.Context(), who, at, 1+rand.IntN(20))
		if err != nil {
			f.t.Error(err)
			return got
		}
		if n := len(list); breaksOff && n > 0 {
			list = list[:1+rand.IntN(n)]
			next, err = eventlog.ParseCursor(list[len(list)-1].Cursor.String())
			if err != nil {
				f.t.Error(err)
				return got
			}
		}
		at = next
		got = append(got, typesOf(list)...)
		if len(list) > 0 {
			idle = 0
			continue
		}
		if !ended {
			idle = 0
		} else if len(got) >= len(f.committed) {
			return got
		}
		<-tick.C
	}
	return got
}
