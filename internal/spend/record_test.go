package spend_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fleetboard/db"
	"fleetboard/db/dbfactory"
	"fleetboard/db/dbtest"
	"fleetboard/internal/ids"
	"fleetboard/internal/spend"
)

// ledger is a workspace with a job that was worked on twice.
type ledger struct {
	t         *testing.T
	db        *db.DB
	workspace ids.ID
	product   ids.ID
	job       ids.ID
}

func newLedger(t *testing.T) *ledger {
	t.Helper()
	t.Parallel()
	d := dbtest.New(t)
	b := &ledger{t: t, db: d, workspace: dbfactory.Workspace(t, d), job: ids.New()}
	b.product, _ = ids.Parse(dbfactory.Text(t, d, `SELECT id::text FROM product`))
	dbfactory.Exec(t, d, `INSERT INTO lane (workspace_id, product_id, needs, digest) VALUES ($1, $2, '{}', '')`, b.workspace, b.product)
	dbfactory.Exec(t, d, `INSERT INTO job (workspace_id, id, key, title, product_id, lane_id, status, epoch, created_by)
		SELECT workspace_id, $1, 'J-1', 'job', product_id, id, 'ready', 2, 'test' FROM lane`, b.job)
	dbfactory.Exec(t, d, `INSERT INTO attempt (workspace_id, job_id, epoch, agent, factory, outcome, ended_at)
		SELECT workspace_id, id, generate_series(1, 2), 'ada', 'desk', 'lost', now() FROM job`)
	return b
}

// under is an entry for a lease of the job.
func (b *ledger) under(epoch int64, id string, change ...func(*spend.Entry)) spend.Entry {
	e := message(id, change...)
	e.Job, e.Epoch, e.Agent, e.Product = b.job, epoch, ids.New(), b.product
	return e
}

// in is a transaction of the workspace.
func (b *ledger) in(do func(db.Tx) error) {
	b.t.Helper()
	if err := b.db.InWorkspace(b.t.Context(), b.workspace, do); err != nil {
		b.t.Fatal(err)
	}
}

func (b *ledger) record(list ...spend.Entry) (outcomes []spend.Outcome) {
	b.t.Helper()
	b.in(func(tx db.Tx) (err error) {
		outcomes, err = spend.RecordTx(b.t.Context(), tx, b.workspace, list)
		return err
	})
	return outcomes
}

func (b *ledger) used() (total spend.Usage, attempts map[int64]spend.Usage) {
	b.t.Helper()
	b.in(func(tx db.Tx) (err error) {
		if total, err = spend.OfJobTx(b.t.Context(), tx, b.workspace, b.job); err != nil {
			return err
		}
		leases, err := spend.OfLeasesTx(b.t.Context(), tx, b.workspace, []spend.Lease{{Job: b.job, Epoch: 1}, {Job: b.job, Epoch: 2}, {Job: b.job, Epoch: 3}})
		attempts = map[int64]spend.Usage{}
		for l, used := range leases {
			attempts[l.Epoch] = used
		}
		return err
	})
	return total, attempts
}

func cents(n spend.Nanos) *spend.Nanos { n *= 10_000_000; return &n }

var (
	first   = spend.Outcome{Recorded: true}
	again   = spend.Outcome{}
	another = spend.Outcome{Differs: true}
)

// What is told again changes nothing, whichever lease it is told for; what an
// unknown model cost is not nothing.
func TestTheFirstTellingCounts(t *testing.T) {
	b := newLedger(t)
	if total, attempts := b.used(); total != (spend.Usage{}) || len(attempts) > 0 {
		t.Errorf("nothing was told, and %v, %v are used", total, attempts)
	}
	unknown := func(e *spend.Entry) { e.CostUSD = nil }
	free := func(e *spend.Entry) { e.CostUSD = usd("0") }
	longer := func(e *spend.Entry) { e.Output = 20 }
	for i, step := range []struct {
		told []spend.Entry
		want []spend.Outcome
	}{
		{[]spend.Entry{b.under(1, "a"), b.under(1, "b", unknown)}, []spend.Outcome{first, first}},
		{[]spend.Entry{b.under(1, "a"), b.under(2, "a"), b.under(2, "c")}, []spend.Outcome{again, again, first}},
		{[]spend.Entry{b.under(1, "a", longer), b.under(1, "a", unknown), b.under(1, "b"), b.under(1, "b", free)},
			[]spend.Outcome{another, another, another, another}},
		{[]spend.Entry{b.under(1, "b", unknown, func(e *spend.Entry) { e.Model, e.Operation = "another", "later" })}, []spend.Outcome{again}},
		{[]spend.Entry{b.under(2, "d"), b.under(2, "d", longer), b.under(1, "d")}, []spend.Outcome{first, another, again}},
		{[]spend.Entry{b.under(2, "e", free)}, []spend.Outcome{first}},
		{nil, []spend.Outcome{}},
	} {
		if diff := cmp.Diff(step.want, b.record(step.told...)); diff != "" {
			t.Errorf("step %d (-want +got):\n%s", i, diff)
		}
	}
	total, attempts := b.used()
	want := map[int64]spend.Usage{
		1: {Entries: 2, Input: 2, Output: 4, CacheRead: 6, CacheWrite: 8, Cost: cents(50), Unpriced: 1},
		2: {Entries: 3, Input: 3, Output: 6, CacheRead: 9, CacheWrite: 12, Cost: cents(100)}}
	if diff := cmp.Diff(want, attempts); diff != "" {
		t.Errorf("attempts (-want +got):\n%s", diff)
	}
	whole := spend.Usage{Entries: 5, Input: 5, Output: 10, CacheRead: 15, CacheWrite: 20, Cost: cents(150), Unpriced: 1}
	if diff := cmp.Diff(whole, total); diff != "" {
		t.Errorf("the job (-want +got):\n%s", diff)
	}
}

// Where no entry has a cost, the sum is unknown too; a free one is known.
func TestACostThatNobodyKnows(t *testing.T) {
	b := newLedger(t)
	b.record(b.under(1, "a", func(e *spend.Entry) { e.CostUSD = nil }))
	if total, _ := b.used(); total.Cost != nil || total.Unpriced != 1 {
		t.Errorf("an unknown cost adds up to %v", total)
	}
	b.record(b.under(1, "b", func(e *spend.Entry) { e.CostUSD = usd("0") }))
	if total, _ := b.used(); total.Cost == nil || *total.Cost != 0 || total.Unpriced != 1 {
		t.Errorf("a free message and one of unknown cost add up to %v", total)
	}
}

// The table takes the biggest entry that Check lets pass, and no bigger one.
func TestTheTableHasTheLimitsOfTheCheck(t *testing.T) {
	b := newLedger(t)
	big := b.under(1, "", most)
	if err := big.Check(); err != nil || !b.record(big)[0].Recorded {
		t.Errorf("the biggest entry was not kept: %v", err)
	}
	for name, change := range map[string]func(*spend.Entry){
		"id": func(e *spend.Entry) { e.ID += "x" }, "no id": func(e *spend.Entry) { e.ID = "" },
		"provider": func(e *spend.Entry) { e.Provider += "x" }, "model": func(e *spend.Entry) { e.Model += "x" },
		"session": func(e *spend.Entry) { e.Session += "x" }, "operation": func(e *spend.Entry) { e.Operation += "x" },
		"input": func(e *spend.Entry) { e.Input++ }, "output": func(e *spend.Entry) { e.Output++ },
		"read": func(e *spend.Entry) { e.CacheRead++ }, "write": func(e *spend.Entry) { e.CacheWrite = -1 },
	} {
		e := b.under(2, "", most, func(e *spend.Entry) { e.ID = "x" + string([]rune(e.ID)[1:]) }, change)
		if e.Check() == nil {
			t.Errorf("%s: the check lets it pass", name)
		}
		err := b.db.InWorkspace(t.Context(), b.workspace, func(tx db.Tx) error {
			_, err := spend.RecordTx(t.Context(), tx, b.workspace, []spend.Entry{e})
			return err
		})
		if err == nil {
			t.Errorf("%s: the table takes it", name)
		}
	}
}

// The application can neither change nor remove what was spent.
func TestWhatWasSpentStays(t *testing.T) {
	b := newLedger(t)
	b.record(b.under(1, "a"))
	for _, sql := range []string{`UPDATE usage_entry SET input_tokens = 0`, `DELETE FROM usage_entry`, `DELETE FROM job_usage`} {
		err := b.db.InWorkspace(t.Context(), b.workspace, func(tx db.Tx) error {
			_, err := tx.Exec(t.Context(), sql)
			return err
		})
		if err == nil {
			t.Errorf("%s went through", sql)
		}
	}
	// It outlives its job, which has no sums then.
	dbfactory.Exec(t, b.db, `DELETE FROM job`)
	if n := dbfactory.Int(t, b.db, `SELECT count(*) * 10 + (SELECT count(*) FROM job_usage) FROM usage_entry`); n != 10 {
		t.Errorf("%d entries and sums, read as two digits; want 10", n)
	}
	dbfactory.Exec(t, b.db, `DELETE FROM workspace`)
	if n := dbfactory.Int(t, b.db, `SELECT count(*) FROM usage_entry`); n != 0 {
		t.Errorf("%d entries outlive their workspace", n)
	}
}

// Two transactions tell the same messages, each in an order of its own: the second
// waits for the first, and records what that one did not. Whatever the orders,
// nobody waits in a circle.
func TestTwoTellTheSameAtOnce(t *testing.T) {
	b := newLedger(t)
	for _, commits := range []bool{true, false} {
		id := func(n int) string { return fmt.Sprint(commits, n) }
		held, let := make(chan struct{}), make(chan struct{})
		var undone error
		if !commits {
			undone = errUndone
		}
		ended := make(chan error, 1)
		go func() {
			ended <- b.db.InWorkspace(context.WithoutCancel(t.Context()), b.workspace, func(tx db.Tx) error {
				got, err := spend.RecordTx(t.Context(), tx, b.workspace, []spend.Entry{b.under(2, id(3)), b.under(1, id(1))})
				if err == nil && (!got[0].Recorded || !got[1].Recorded) {
					err = fmt.Errorf("the first one got %v", got)
				}
				close(held)
				<-let
				return errors.Join(err, undone)
			})
		}()
		<-held
		waits := make(chan []spend.Outcome, 1)
		go func() { waits <- b.record(b.under(1, id(1)), b.under(1, id(2)), b.under(2, id(3))) }()
		b.untilWaiting()
		close(let)
		if err := <-ended; !errors.Is(err, undone) {
			t.Error(err)
		}
		want := []spend.Outcome{{Recorded: !commits}, first, {Recorded: !commits}}
		if diff := cmp.Diff(want, <-waits); diff != "" {
			t.Errorf("commits: %v (-want +got):\n%s", commits, diff)
		}
	}
	if total, _ := b.used(); total.Entries != 6 || total.Input != 6 || *total.Cost != *cents(300) {
		t.Errorf("six messages are counted as %+v", total)
	}
}

var errUndone = errors.New("undone")

// untilWaiting returns once a statement waits for a lock.
func (b *ledger) untilWaiting() {
	b.t.Helper()
	for dbfactory.Int(b.t, b.db, `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`) == 0 {
		if b.t.Context().Err() != nil {
			b.t.Fatal("nobody waits")
		}
	}
}
