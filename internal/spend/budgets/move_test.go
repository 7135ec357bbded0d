package budgets_test

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/db/dbtest"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/spend"
	"github.com/fleetboard/fleetboard/internal/spend/budgets"
)

// A transfer gives what is free, and never what is settled or reserved.
func TestATransferLeavesWhatIsSpent(t *testing.T) {
	w := newTestWorkspace(t)
	from, to := w.made(monthly(100)), w.made(monthly(1))
	w.book(from.ID, budgets.Reserved, budgets.Free, budgets.InUse, 30*dollar)
	w.book(from.ID, budgets.Settled, budgets.InUse, budgets.Consumed, 10*dollar)
	w.told()
	_, err := w.Transfer(t.Context(), w.who, from.ID, budgets.Transfer{To: to.ID, Amount: 70*dollar + 1})
	if !fault.Is(err, fault.OverBudget) || fault.From(err).Details["free_usd"] != "70.000000000" {
		t.Error(err)
	}
	moved, err := w.Transfer(t.Context(), w.who, from.ID, budgets.Transfer{To: to.ID, Amount: 70 * dollar, Reason: "release"})
	if err != nil {
		t.Fatal(err)
	}
	if free, _ := w.get(from.ID).State.Free(); free != 0 {
		t.Errorf("%v is free", free)
	}
	if free, _ := w.get(to.ID).State.Free(); free != 71*dollar || !slices.Contains(w.told(), to.ID) {
		t.Errorf("%v is free", free)
	}
	if _, err := w.Undo(t.Context(), w.who, from.ID, moved.Line, nil); err != nil {
		t.Error(err)
	}
	if _, err := w.Undo(t.Context(), w.who, from.ID, moved.Line, nil); !fault.Is(err, fault.InvalidTransition) {
		t.Errorf("taken back twice: %v", err)
	}
	if free, _ := w.get(from.ID).State.Free(); free != 70*dollar || w.unequal() != 0 {
		t.Errorf("%v is free after all", free)
	}
	lines, next, err := w.Ledger(t.Context(), w.who, from.ID, budgets.LedgerQuery{Limit: 1, Kinds: []budgets.Kind{budgets.TransferredIn, budgets.TransferredOut}})
	if err != nil || next == 0 || len(lines) != 1 || lines[0].Kind != budgets.TransferredIn || lines[0].Other != to.ID || lines[0].OtherName != "All" {
		t.Errorf("%+v %d %v", lines, next, err)
	}
}

// A raise that has ended goes as far as it is free; the rest goes as it becomes free.
func TestARaiseEnds(t *testing.T) {
	w := newTestWorkspace(t)
	b := w.made(monthly(10))
	until := time.Now().Add(time.Hour)
	raised, err := w.Raise(t.Context(), w.who, b.ID, budgets.Raise{Amount: 20 * dollar, Until: &until, Reason: "release"})
	if err != nil {
		t.Fatal(err)
	}
	w.book(b.ID, budgets.Reserved, budgets.Free, budgets.InUse, 25*dollar)
	if n, err := w.Sweep(t.Context()); n != 0 || err != nil {
		t.Errorf("too early: %d %v", n, err)
	}
	dbfactory.Exec(t, w.db, `UPDATE budget_raise SET until = now() - interval '1 second'`)
	if n, err := w.Sweep(t.Context()); n != 1 || err != nil {
		t.Errorf("swept %d %v", n, err)
	}
	limit := func(want int) {
		t.Helper()
		if got := w.get(b.ID).State; *got.Money != spend.Nanos(want)*dollar || w.unequal() != 0 {
			t.Errorf("the limit is %s, want %d", got.Money.USD(), want)
		}
	}
	limit(25)
	w.book(b.ID, budgets.Freeing, budgets.InUse, budgets.Free, 12*dollar)
	if n, err := w.Sweep(t.Context()); n != 1 || err != nil {
		t.Errorf("swept %d %v", n, err)
	}
	limit(13)
	w.book(b.ID, budgets.Freeing, budgets.InUse, budgets.Free, 13*dollar)
	for range 2 {
		if _, err := w.Sweep(t.Context()); err != nil {
			t.Error(err)
		}
		limit(10)
	}
	if _, err := w.Undo(t.Context(), w.who, b.ID, raised.Line, nil); !fault.Is(err, fault.InvalidTransition) {
		t.Errorf("taken back twice: %v", err)
	}
	past := time.Now().Add(-time.Hour)
	if _, err := w.Raise(t.Context(), w.who, b.ID, budgets.Raise{Amount: dollar, Until: &past}); !fault.Is(err, fault.Validation) {
		t.Error(err)
	}
}

// A raise is taken back whole or not at all: where its money is reserved, spent or in another
// budget the refusal says what is free, and nothing has changed.
func TestARaiseIsTakenBackWhole(t *testing.T) {
	for where, moveOn := range map[string]func(w *testWorkspace, b budgets.Budget) error{
		"reserved": func(w *testWorkspace, b budgets.Budget) error {
			w.book(b.ID, budgets.Reserved, budgets.Free, budgets.InUse, 25*dollar)
			return nil
		},
		"spent": func(w *testWorkspace, b budgets.Budget) error {
			w.book(b.ID, budgets.Settled, budgets.Free, budgets.Consumed, 25*dollar)
			return nil
		},
		"in another budget": func(w *testWorkspace, b budgets.Budget) error {
			_, err := w.Transfer(t.Context(), w.who, b.ID, budgets.Transfer{To: w.made(monthly(1)).ID, Amount: 25 * dollar})
			return err
		},
		"below a lower limit": func(w *testWorkspace, b budgets.Budget) error {
			_, err := w.Transfer(t.Context(), w.who, b.ID, budgets.Transfer{To: w.made(monthly(1)).ID, Amount: 15 * dollar})
			_, lowered := w.Change(t.Context(), w.who, b.ID, budgets.Patch{Money: budgets.Ceiling[spend.Nanos]{Set: true, Value: dollars(0)}})
			return errors.Join(err, lowered)
		},
	} {
		t.Run(strings.ReplaceAll(where, " ", "_"), func(t *testing.T) {
			w := newTestWorkspace(t)
			b := w.made(monthly(10))
			raised, err := w.Raise(t.Context(), w.who, b.ID, budgets.Raise{Amount: 20 * dollar})
			if err != nil {
				t.Fatal(err)
			}
			if err := moveOn(w, b); err != nil {
				t.Fatal(err)
			}
			before := w.get(b.ID).State
			_, err = w.Undo(t.Context(), w.who, b.ID, raised.Line, nil)
			if !fault.Is(err, fault.OverBudget) || !strings.Contains(err.Error(), " free: what is settled") {
				t.Errorf("it says %v", err)
			}
			if after := w.get(b.ID).State; *after.Money != *before.Money || w.unequal() != 0 {
				t.Errorf("the limit is %s, was %s", after.Money.USD(), before.Money.USD())
			}
			if _, err := w.Raise(t.Context(), w.who, b.ID, budgets.Raise{Amount: 30 * dollar}); err != nil {
				t.Fatal(err)
			}
			if _, err := w.Undo(t.Context(), w.who, b.ID, raised.Line, nil); err != nil {
				t.Errorf("once there is room: %v", err)
			}
		})
	}
}

// A transfer is not taken out of the next period of the budget that got it, and a raise of a
// budget that was removed does not end.
func TestMoneyOfAPeriodThatIsOver(t *testing.T) {
	w := newTestWorkspace(t)
	from, to := w.made(monthly(10)), w.made(monthly(10, func(in *budgets.Input) { in.Period, in.Timezone = budgets.Day, "UTC" }))
	moved, err := w.Transfer(t.Context(), w.who, from.ID, budgets.Transfer{To: to.ID, Amount: 4 * dollar})
	if err != nil {
		t.Fatal(err)
	}
	dbfactory.Exec(t, w.db, `UPDATE budget_ledger SET at = at - interval '1 day', period_start = period_start - CASE WHEN budget_id = $1 THEN interval '1 day' ELSE '0' END`, to.ID)
	dbfactory.Exec(t, w.db, `UPDATE budget_period SET period_start = period_start - interval '1 day', period_end = period_end - interval '1 day' WHERE budget_id = $1`, to.ID)
	if _, err := w.Undo(t.Context(), w.who, from.ID, moved.Line, nil); !fault.Is(err, fault.InvalidTransition) {
		t.Errorf("it is taken out of the next period: %v", err)
	}
	if got := w.get(from.ID).State; *got.Money != 6*dollar || w.unequal() != 0 {
		t.Errorf("the giver has %s", got.Money.USD())
	}
	until := time.Now().Add(time.Hour)
	if _, err := w.Raise(t.Context(), w.who, from.ID, budgets.Raise{Amount: dollar, Until: &until}); err != nil {
		t.Fatal(err)
	}
	if err := w.Remove(t.Context(), w.who, from.ID); err != nil {
		t.Fatal(err)
	}
	dbfactory.Exec(t, w.db, `UPDATE budget_raise SET until = now() - interval '1 second'`)
	if _, err := w.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := dbfactory.Int(t, w.db, `SELECT count(*) FROM budget_ledger WHERE kind = 'expire'`); n != 0 {
		t.Error("the raise of the removed budget has ended")
	}
}

// Two transfers of the last dollar: one gets it, whichever waits for the other.
func TestTwoTransfersOfTheLastDollar(t *testing.T) {
	w := newTestWorkspace(t)
	from, to, other := w.made(monthly(1)), w.made(monthly(1)), w.made(monthly(1))
	// Both are under way while somebody else holds the budget.
	holder := dbtest.Owner(t, w.db)
	held, err := holder.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := held.Exec(t.Context(), `SELECT FROM budget WHERE id = $1 FOR UPDATE`, from.ID); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	errs := make([]error, 2)
	for i, taker := range []ids.ID{to.ID, other.ID} {
		service := budgets.NewService(w.db, quiet{}, nil)
		all.Go(func() {
			_, errs[i] = service.Transfer(t.Context(), w.who, from.ID, budgets.Transfer{To: taker, Amount: dollar})
		})
	}
	for dbfactory.Int(t, w.db, `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`) < 2 {
		if t.Context().Err() != nil {
			t.Fatal("nobody waits")
		}
	}
	if err := held.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	all.Wait()
	if (errs[0] == nil) == (errs[1] == nil) || !fault.Is(errs[0], fault.OverBudget) && !fault.Is(errs[1], fault.OverBudget) {
		t.Errorf("%v, %v", errs[0], errs[1])
	}
	if n := dbfactory.Int(t, w.db, `SELECT sum(limit_nanos) / 1000000000 FROM budget_period`); n != 3 || w.unequal() != 0 {
		t.Errorf("there are %d dollars", n)
	}
}

// Whatever people and jobs do in whatever order: each sum is that of its lines, a transfer
// neither makes nor loses money, and nothing that is settled or reserved is taken.
func TestTheLedgerHoldsWhateverHappens(t *testing.T) {
	w := newTestWorkspace(t)
	rapid.Check(t, func(r *rapid.T) {
		dbfactory.Exec(t, w.db, `DELETE FROM budget`)
		p := &play{testWorkspace: w, r: r, list: []ids.ID{w.made(monthly(50)).ID, w.made(monthly(50)).ID, w.made(monthly(50)).ID}}
		for range rapid.IntRange(1, 16).Draw(r, "steps") {
			id := rapid.SampledFrom(p.list).Draw(r, "budget")
			amount := spend.Nanos(rapid.IntRange(1, 40).Draw(r, "amount"))*dollar + 1
			rapid.SampledFrom([]func(ids.ID, spend.Nanos){p.transfer, p.transfer, p.raise, p.edit, p.work, p.work, p.takeBack, p.sweep}).
				Draw(r, "step")(id, amount)
		}
		if n := w.unequal(); n != 0 {
			r.Fatalf("%d periods are not what their ledger says", n)
		}
	})
}

// play is what people and jobs do with three budgets.
type play struct {
	*testWorkspace

	r     *rapid.T
	list  []ids.ID
	lines []taken
}

// taken is a line that may be taken back.
type taken struct {
	budget ids.ID
	line   int64
}

func (p *play) free(id ids.ID) spend.Nanos {
	free, _ := p.get(id).State.Free()
	return free
}

func (p *play) transfer(id ids.ID, amount spend.Nanos) {
	total := func() int { return dbfactory.Int(p.t, p.db, `SELECT sum(limit_nanos)::bigint FROM budget_period`) }
	to := rapid.SampledFrom(p.list).Filter(func(o ids.ID) bool { return o != id }).Draw(p.r, "to")
	before, free := total(), p.free(id)
	moved, err := p.Transfer(p.t.Context(), p.who, id, budgets.Transfer{To: to, Amount: amount})
	switch {
	case err == nil:
		p.lines = append(p.lines, taken{id, moved.Line})
	case !fault.Is(err, fault.OverBudget):
		p.r.Fatal(err)
	}
	if after := total(); (err == nil) != (amount <= free) || after != before {
		p.r.Fatalf("%s of %s free: %v, %d before, %d after", amount.USD(), free.USD(), err, before, after)
	}
}

func (p *play) raise(id ids.ID, amount spend.Nanos) {
	raised, err := p.Raise(p.t.Context(), p.who, id, budgets.Raise{Amount: amount})
	if err != nil {
		p.r.Fatal(err)
	}
	p.lines = append(p.lines, taken{id, raised.Line})
}

func (p *play) edit(id ids.ID, amount spend.Nanos) {
	limit := budgets.Ceiling[spend.Nanos]{Set: true, Value: &amount}
	if _, err := p.Change(p.t.Context(), p.who, id, budgets.Patch{Money: limit}); err != nil {
		p.r.Fatal(err)
	}
}

// work reserves, settles or frees.
func (p *play) work(id ids.ID, amount spend.Nanos) {
	switch held := p.get(id).State.Reserved.Money; rapid.IntRange(0, 2).Draw(p.r, "work") {
	case 0:
		p.book(id, budgets.Reserved, budgets.Free, budgets.InUse, amount)
	case 1:
		p.book(id, budgets.Settled, budgets.InUse, budgets.Consumed, min(amount, held))
	default:
		p.book(id, budgets.Freeing, budgets.InUse, budgets.Free, min(amount, held))
	}
}

func (p *play) takeBack(ids.ID, spend.Nanos) {
	if len(p.lines) == 0 {
		return
	}
	l := rapid.SampledFrom(p.lines).Draw(p.r, "line")
	before := p.free(l.budget)
	_, err := p.Undo(p.t.Context(), p.who, l.budget, l.line, nil)
	if err != nil && !fault.Is(err, fault.OverBudget) && !fault.Is(err, fault.InvalidTransition) {
		p.r.Fatal(err)
	}
	if after := p.free(l.budget); after < min(before, 0) {
		p.r.Fatalf("%s was free before a line was taken back, %s is after", before.USD(), after.USD())
	}
}

func (p *play) sweep(ids.ID, spend.Nanos) {
	if _, err := p.Sweep(p.t.Context()); err != nil {
		p.r.Fatal(err)
	}
}
