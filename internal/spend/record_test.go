package spend_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/db/dbtest"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/spend"
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

// under returns an entry for a lease of the job.
func (b *ledger) under(epoch int64, id string, change ...func(*spend.Entry)) spend.Entry {
	e := message(id, change...)
	e.Booking = spend.Booking{Job: b.job, Epoch: epoch, Agent: ids.New(), AgentName: "ada", Factory: "desk", Product: b.product, Phase: "M1",
		Repo: "ledger-api", Claimed: time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC), Now: time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC)}
	return e
}

// in is a transaction of the workspace.
func (b *ledger) in(do func(db.Tx) error) {
	b.t.Helper()
	if err := b.db.In(b.t.Context(), db.Workspace(b.workspace), do); err != nil {
		b.t.Fatal(err)
	}
}

func (b *ledger) record(list ...spend.Entry) (outcomes []spend.Outcome) {
	b.t.Helper()
	b.in(func(tx db.Tx) (err error) {
		outcomes, _, err = spend.RecordTx(b.t.Context(), tx, b.workspace, list)
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

func cents(n spend.Nanos) spend.Nanos { return n * 10_000_000 }

// What is reported again raises what is larger, whichever lease it is reported for, and stays with
// the lease that reported it first; what an unknown model cost is not nothing.
func TestATellingRaises(t *testing.T) {
	b := newLedger(t)
	if total, attempts := b.used(); total != (spend.Usage{}) || len(attempts) > 0 {
		t.Errorf("nothing was told, and %v, %v are used", total, attempts)
	}
	unknown := func(e *spend.Entry) { e.CostUSD = nil }
	free := func(e *spend.Entry) { e.CostUSD = usd("0") }
	longer := func(e *spend.Entry) { e.Output = 20 }
	shorter := func(e *spend.Entry) { e.Output, e.CacheWrite1h = 1, 9 }
	const recorded, raised, known = spend.Recorded, spend.Raised, spend.Known
	for i, step := range []struct {
		told []spend.Entry
		want []spend.Outcome
	}{
		{[]spend.Entry{b.under(1, "a"), b.under(1, "b", unknown)}, []spend.Outcome{recorded, recorded}},
		{[]spend.Entry{b.under(1, "a"), b.under(2, "a"), b.under(2, "c")}, []spend.Outcome{known, known, recorded}},
		{[]spend.Entry{b.under(1, "a", longer), b.under(1, "a", unknown), b.under(2, "a", shorter)}, []spend.Outcome{raised, known, raised}},
		{[]spend.Entry{b.under(1, "b", free), b.under(1, "b", free)}, []spend.Outcome{raised, known}},
		{[]spend.Entry{b.under(2, "d"), b.under(2, "d", longer), b.under(1, "d")}, []spend.Outcome{recorded, raised, known}},
		{[]spend.Entry{b.under(2, "e", unknown)}, []spend.Outcome{recorded}},
		{nil, []spend.Outcome{}},
	} {
		if diff := cmp.Diff(step.want, b.record(step.told...)); diff != "" {
			t.Errorf("step %d (-want +got):\n%s", i, diff)
		}
	}
	total, attempts := b.used()
	first := spend.Usage{Entries: 2, Input: 2, Output: 22, CacheRead: 6, CacheWrite: 8, CacheWrite1h: 9, Charged: cents(50), Reported: cents(50),
		UnpricedTokens: 47}
	second := spend.Usage{Entries: 3, Input: 3, Output: 24, CacheRead: 9, CacheWrite: 12, Charged: cents(100), Reported: cents(100), Unpriced: 1,
		UnpricedTokens: 48}
	if diff := cmp.Diff(map[int64]spend.Usage{1: first, 2: second}, attempts); diff != "" {
		t.Errorf("attempts (-want +got):\n%s", diff)
	}
	if total.Entries != 5 || total.Charged != cents(150) || total.Tokens() != first.Tokens()+second.Tokens() {
		t.Errorf("the job has used %+v", total)
	}
	b.sumsAreRight()
}

// Where no entry has a cost, the sum is unknown too; a free one is known.
func TestACostThatNobodyKnows(t *testing.T) {
	b := newLedger(t)
	b.record(b.under(1, "a", func(e *spend.Entry) { e.CostUSD = nil }))
	if total, _ := b.used(); total.Unpriced != 1 {
		t.Errorf("an unknown cost adds up to %v", total)
	} else if cost, known := total.Cost(); known {
		t.Errorf("an unknown cost is %d", cost)
	}
	b.record(b.under(1, "b", func(e *spend.Entry) { e.CostUSD = usd("0") }))
	if total, _ := b.used(); total.Unpriced != 1 {
		t.Errorf("a free message and one of unknown cost add up to %v", total)
	} else if cost, known := total.Cost(); !known || cost != 0 {
		t.Errorf("a free message costs %d, %t", cost, known)
	}
}

// priced are entries of models that have a price, and of one that has none.
func priced(provider, model string, at time.Time) func(*spend.Entry) {
	return func(e *spend.Entry) { e.Provider, e.Model, e.At = provider, model, at }
}

// The price of a moment splits usage exactly there; a later price changes nothing that was
// booked, also where that is raised afterwards; a flat rate is imputed and not charged.
func TestAPriceHoldsFromItsInstant(t *testing.T) {
	b := newLedger(t)
	from := time.Date(2026, 11, 10, 12, 0, 0, 0, time.UTC)
	b.price(1, "house", "house-*", time.Time{}, false)
	b.price(2, "house", "house-1", from, false)
	b.price(4, "house", "flat", time.Time{}, true)
	million := func(e *spend.Entry) { e.Input, e.Output, e.CacheRead, e.CacheWrite = 1_000_000, 0, 0, 0 }
	b.record(b.under(1, "before", million, priced("house", "house-1", from.Add(-time.Nanosecond*1000))),
		b.under(1, "after", million, priced("house", "house-1", from)), b.under(1, "flat", million, priced("house", "flat", from)))
	want := spend.Usage{Entries: 3, Input: 3_000_000, Charged: cents(300), Computed: cents(300), Imputed: cents(400), Reported: cents(150)}
	if total, _ := b.used(); total != want {
		t.Errorf("used %+v; want %+v", total, want)
	}
	b.price(9, "house", "house-1", from.Add(-time.Hour), false)
	b.record(b.under(1, "before", priced("house", "house-1", from.Add(time.Hour)), func(e *spend.Entry) { e.Input = 2_000_000; e.Output = 0; e.CacheRead = 0; e.CacheWrite = 0 }))
	want.Input, want.Charged, want.Computed = 4_000_000, cents(400), cents(400)
	if total, _ := b.used(); total != want {
		t.Errorf("raised to %+v; want %+v", total, want)
	}
	b.sumsAreRight()
}

// A clock that is wrong moves nothing out of its lease: prices, hours and periods go by
// the database's.
func TestAWrongClockBooksWithinTheLease(t *testing.T) {
	b := newLedger(t)
	claimed, now := time.Date(2026, 11, 10, 8, 30, 0, 0, time.UTC), time.Date(2026, 11, 10, 10, 30, 0, 0, time.UTC)
	for i, at := range []time.Time{claimed.AddDate(-9, 0, 0), claimed.Add(time.Hour), now.AddDate(9, 0, 0)} {
		e := b.under(1, fmt.Sprint("m-", i), func(e *spend.Entry) { e.At = at })
		e.Claimed, e.Now = claimed, now
		b.record(e)
	}
	got := dbfactory.Text(t, b.db, `SELECT string_agg(to_char(hour AT TIME ZONE 'UTC', 'HH24'), ' ' ORDER BY hour) FROM usage_hour`)
	if got != "08 09 10" {
		t.Errorf("booked in the hours %s", got)
	}
}

// Whatever is reported in whatever order, however often and however partly, ends in the same
// totals, and all sums are those of the entries.
func TestTellingsInAnyOrderEndAlike(t *testing.T) {
	b := newLedger(t)
	b.price(3, "house", "priced", time.Time{}, false)
	run := 0
	rapid.Check(t, func(r *rapid.T) {
		run++
		final := rapid.SliceOfN(rapid.Custom(drawEntry), 1, 6).Draw(r, "entries")
		var ends [2]string
		for way := range ends {
			var told []spend.Entry
			for i, e := range final {
				whole := b.under(int64(1+i%2), fmt.Sprint(run, "-", way, "-", i), func(x *spend.Entry) {
					x.Model, x.Input, x.Output, x.CacheRead, x.CacheWrite, x.CacheWrite1h, x.CostUSD = e.Model, e.Input, e.Output, e.CacheRead, e.CacheWrite, e.CacheWrite1h, e.CostUSD
				})
				told = append(told, whole)
				for range rapid.IntRange(0, 3).Draw(r, "repeats") {
					part := whole
					part.Input, part.Output = part.Input*rapid.Int64Range(0, 4).Draw(r, "cut")/4, part.Output*rapid.Int64Range(0, 4).Draw(r, "cut")/4
					if rapid.Bool().Draw(r, "without a cost") {
						part.CostUSD = nil
					}
					told = append(told, part)
				}
			}
			told = rapid.Permutation(told).Draw(r, "order")
			for len(told) > 0 {
				n := rapid.IntRange(1, len(told)).Draw(r, "in one call")
				b.record(told[:n]...)
				told = told[n:]
			}
			ends[way] = dbfactory.Text(b.t, b.db, `SELECT string_agg(concat_ws(' ', split_part(id, '-', 3), input_tokens, output_tokens, cache_read_tokens,
				cache_write_tokens, cache_write_1h_tokens, reported_nanos, computed_nanos, charged_nanos), E'\n' ORDER BY id)
				FROM usage_entry WHERE id LIKE $1`, fmt.Sprint(run, "-", way, "-%"))
		}
		if ends[0] != ends[1] {
			r.Errorf("two ways of telling end as\n%s\nand\n%s", ends[0], ends[1])
		}
	})
	b.sumsAreRight()
}

func drawEntry(r *rapid.T) spend.Entry {
	n := rapid.Int64Range(0, 1_000_000)
	e := spend.Entry{Model: rapid.SampledFrom([]string{"priced", "house-1"}).Draw(r, "model"), Input: n.Draw(r, "input"), Output: n.Draw(r, "output"),
		CacheRead: n.Draw(r, "read"), CacheWrite: n.Draw(r, "write"), CacheWrite1h: n.Draw(r, "write 1h")}
	if rapid.Bool().Draw(r, "reported") {
		e.CostUSD = usd(spend.Nanos(n.Draw(r, "cost")).USD())
	}
	return e
}

// price is a price of that many dollars for a million tokens of each kind.
func (b *ledger) price(dollars int64, provider, model string, from time.Time, flat bool) {
	b.t.Helper()
	dbfactory.Exec(b.t, b.db, `INSERT INTO price (workspace_id, provider, model, valid_from, input, cache_read, cache_write, cache_write_1h, output,
		flat_rate, created_by) VALUES ($1, $2, $3, $4, $5, $5, $5, $5, $5, $6, 'test')`, b.workspace, provider, model, from, dollars*1_000_000, flat)
}

// sumsAreRight compares the sums of leases and hours with the entries.
func (b *ledger) sumsAreRight() {
	b.t.Helper()
	sums := `sum(input_tokens), sum(output_tokens), sum(cache_read_tokens), sum(cache_write_tokens), sum(cache_write_1h_tokens), sum(charged_nanos)`
	raw := dbfactory.Text(b.t, b.db, `SELECT string_agg(x::text, E'\n' ORDER BY x::text) FROM (SELECT job_id, epoch, count(*), `+sums+`,
		coalesce(sum(reported_nanos), 0) FROM usage_entry GROUP BY job_id, epoch) x`)
	for _, table := range []string{"job_usage", "usage_hour"} {
		got := dbfactory.Text(b.t, b.db, `SELECT string_agg(x::text, E'\n' ORDER BY x::text) FROM (SELECT job_id, epoch, sum(entries), `+sums+`,
			sum(reported_nanos) FROM `+table+` GROUP BY job_id, epoch) x`)
		if got != raw {
			b.t.Errorf("%s has\n%s\nand the entries add up to\n%s", table, got, raw)
		}
	}
}

// The table takes the biggest entry that Check lets pass, and no bigger one.
func TestTheTableHasTheLimitsOfTheCheck(t *testing.T) {
	b := newLedger(t)
	big := b.under(1, "", most)
	if err := big.Check(); err != nil || b.record(big)[0] != spend.Recorded {
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
		err := b.db.In(t.Context(), db.Workspace(b.workspace), func(tx db.Tx) error {
			_, _, err := spend.RecordTx(t.Context(), tx, b.workspace, []spend.Entry{e})
			return err
		})
		if err == nil {
			t.Errorf("%s: the table takes it", name)
		}
	}
}

// The application can neither rename nor remove what was spent.
func TestWhatWasSpentStays(t *testing.T) {
	b := newLedger(t)
	b.record(b.under(1, "a"))
	for _, sql := range []string{`UPDATE usage_entry SET id = 'x'`, `DELETE FROM usage_entry`, `DELETE FROM job_usage`} {
		err := b.db.In(t.Context(), db.Workspace(b.workspace), func(tx db.Tx) error {
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

// Two transactions report the same messages, each in an order of its own: the second
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
			ended <- b.db.In(context.WithoutCancel(t.Context()), db.Workspace(b.workspace), func(tx db.Tx) error {
				got, _, err := spend.RecordTx(t.Context(), tx, b.workspace, []spend.Entry{b.under(2, id(3)), b.under(1, id(1))})
				if err == nil && (got[0] != spend.Recorded || got[1] != spend.Recorded) {
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
		other := map[bool]spend.Outcome{true: spend.Known, false: spend.Recorded}[commits]
		want := []spend.Outcome{other, spend.Recorded, other}
		if diff := cmp.Diff(want, <-waits); diff != "" {
			t.Errorf("commits: %v (-want +got):\n%s", commits, diff)
		}
	}
	if total, _ := b.used(); total.Entries != 6 || total.Input != 6 || total.Charged != cents(300) {
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
