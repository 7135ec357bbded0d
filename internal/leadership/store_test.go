package leadership

import (
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/db/dbtest"
)

func rows(t *testing.T, d *db.DB, names ...string) []*store {
	t.Helper()
	list := make([]*store, len(names))
	for i, name := range names {
		list[i] = &store{db: d, name: "election", holder: name}
	}
	return list
}

func (r *store) mustAcquire(t *testing.T) (term int64, left time.Duration) {
	t.Helper()
	term, left, err := r.acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return term, left
}

func (r *store) mustRenew(t *testing.T, term int64) bool {
	t.Helper()
	ok, err := r.renew(t.Context(), term)
	if err != nil {
		t.Fatal(err)
	}
	return ok
}

func TestTheRowHasOneHolderUntilItsLeaseEnds(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	list := rows(t, d, "first", "second")
	first, second := list[0], list[1]
	if term, _ := first.mustAcquire(t); term != 1 {
		t.Fatalf("the first term is %d", term)
	}
	if term, left := second.mustAcquire(t); term != 0 || left <= 14*time.Second || left > leaseDuration {
		t.Errorf("while the first one leads: term %d, %v left", term, left)
	}
	dbfactory.Exec(t, d, `UPDATE leadership SET expires_at = clock_timestamp() + interval '1 second'`)
	if !first.mustRenew(t, 1) {
		t.Error("the leader's renewal was refused")
	}
	if _, left := second.mustAcquire(t); left <= 14*time.Second {
		t.Errorf("a renewal left %v", left)
	}
	if second.mustRenew(t, 1) || first.mustRenew(t, 2) {
		t.Error("a lease was renewed by another holder, or in another term")
	}

	dbfactory.Exec(t, d, `UPDATE leadership SET expires_at = clock_timestamp()`)
	if first.mustRenew(t, 1) {
		t.Error("a renewal that came after the lease's end was granted")
	}
	if term, _ := second.mustAcquire(t); term != 2 {
		t.Errorf("after the lease's end the next term is %d", term)
	}
	if first.mustRenew(t, 1) {
		t.Error("the old leader's renewal was granted")
	}
	if err := first.resign(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	if !second.mustRenew(t, 2) {
		t.Error("the old leader gave away what was not its own")
	}
	if err := second.resign(t.Context(), 2); err != nil {
		t.Fatal(err)
	}
	if term, _ := first.mustAcquire(t); term != 3 {
		t.Errorf("after it was given back the next term is %d", term)
	}
	// Its first request may have been granted without an answer.
	if term, _ := first.mustAcquire(t); term != 4 {
		t.Errorf("the holder that asks again begins term %d; want 4", term)
	}
}

func TestOfManyCandidatesOneWins(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	for round := int64(1); round <= 10; round++ {
		var mu sync.Mutex
		var won []int64
		var all sync.WaitGroup
		for _, r := range rows(t, d, "a", "b", "c", "d", "e", "f", "g", "h") {
			all.Go(func() {
				got, _, err := r.acquire(t.Context())
				mu.Lock()
				defer mu.Unlock()
				if err != nil {
					t.Error(err)
				}
				if got > 0 {
					won = append(won, got)
				}
			})
		}
		all.Wait()
		if len(won) != 1 || won[0] != round {
			t.Fatalf("round %d was won in terms %v; want one", round, won)
		}
		dbfactory.Exec(t, d, `UPDATE leadership SET expires_at = clock_timestamp(), holder = 'nobody'`)
	}
}

// reports makes a report of some cycles and says whether it was taken.
func reports(t *testing.T, d *db.DB, o *Election, term, cycles int64) (taken bool) {
	t.Helper()
	err := d.In(t.Context(), db.None, func(tx db.Tx) (err error) {
		taken, err = o.ReportTx(t.Context(), tx, term, Report{LastCycle: time.Now().Add(-4 * time.Second), Cycles: cycles,
			Stats: map[string]int64{"jobs_promoted": 2}})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return taken
}

func leaderOf(t *testing.T, o *Election) Leader {
	t.Helper()
	s, err := o.Leader(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// What a term did is written by its holder only.
func TestReportsBelongToATerm(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	quiet := slog.New(slog.DiscardHandler)
	first, second := New(d, "election", "first", quiet), New(d, "election", "second", quiet)
	if s := leaderOf(t, first); s.Active || s.Term != 0 || s.Holder != "" {
		t.Errorf("before the first election: %+v", s)
	}
	if _, _, err := first.leases.acquire(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !reports(t, d, first, 1, 9) || reports(t, d, second, 1, 50) || reports(t, d, first, 2, 50) {
		t.Error("only the holder may report, and only on its term")
	}
	s := leaderOf(t, second)
	if !s.Active || s.Holder != "first" || s.Term != 1 || s.Cycles != 9 || s.Stats["jobs_promoted"] != 2 {
		t.Errorf("the leader: %+v", s)
	}
	if age := s.Now.Sub(*s.LastCycleAt); age < 4*time.Second || age > 10*time.Second {
		t.Errorf("the last cycle is %v old; want 4 s", age)
	}
}

// A new term counts anew; only when the last cycle was outlives the one before.
func TestANewTermCountsAnew(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	quiet := slog.New(slog.DiscardHandler)
	first, second := New(d, "election", "first", quiet), New(d, "election", "second", quiet)
	if _, _, err := first.leases.acquire(t.Context()); err != nil {
		t.Fatal(err)
	}
	reports(t, d, first, 1, 9)
	dbfactory.Exec(t, d, `UPDATE leadership SET expires_at = clock_timestamp()`)
	if leaderOf(t, first).Active {
		t.Error("a lease that has ended counts as active")
	}
	won, _, err := second.leases.acquire(t.Context())
	if err != nil || won != 2 {
		t.Fatalf("the next term is %d, %v", won, err)
	}
	if s := leaderOf(t, first); s.Cycles != 0 || len(s.Stats) != 0 || s.LastCycleAt == nil {
		t.Errorf("a new term begins with %+v", s)
	}
	if reports(t, d, first, 1, 10) {
		t.Error("the old leader's report was taken")
	}
}
