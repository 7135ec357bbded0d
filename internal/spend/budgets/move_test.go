package budgets_test

import (
	"slices"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"fleetboard/db/dbfactory"
	"fleetboard/db/dbtest"
	"fleetboard/internal/fault"
	"fleetboard/internal/ids"
	"fleetboard/internal/spend"
	"fleetboard/internal/spend/budgets"
)

// A transfer gives what is free, and never what is settled or reserved.
func TestATransferLeavesWhatIsSpent(t *testing.T) {
	w := newWorld(t)
	from, to := w.made(monthly(100)), w.made(monthly(1))
	w.book(from.ID, budgets.Reserved, budgets.Free, budgets.InUse, 30*dollar)
	w.book(from.ID, budgets.Settled, budgets.InUse, budgets.Consumed, 10*dollar)
	w.told()
	_, err := w.Transfer(t.Context(), w.who, from.ID, budgets.Transfer{To: to.ID, Amount: 70*dollar + 1})
	if !fault.Is(err, fault.OverBudget) || fault.From(err).Details["free_usd"] != "70.000000000" {
		t.Error(err)
	}
	line, err := w.Transfer(t.Context(), w.who, from.ID, budgets.Transfer{To: to.ID, Amount: 70 * dollar, Reason: "release"})
	if err != nil {
		t.Fatal(err)
	}
	if free, _ := w.get(from.ID).State.Free(); free != 0 {
		t.Errorf("%v is free", free)
	}
	if free, _ := w.get(to.ID).State.Free(); free != 71*dollar || !slices.Contains(w.told(), to.ID) {
		t.Errorf("%v is free", free)
	}
	if err := w.Undo(t.Context(), w.who, from.ID, line); err != nil {
		t.Error(err)
	}
	if err := w.Undo(t.Context(), w.who, from.ID, line); !fault.Is(err, fault.InvalidTransition) {
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
	w := newWorld(t)
	b := w.made(monthly(10))
	until := time.Now().Add(time.Hour)
	line, err := w.Raise(t.Context(), w.who, b.ID, budgets.Raise{Amount: 20 * dollar, Until: &until, Reason: "release"})
	if err != nil {
		t.Fatal(err)
	}
	w.book(b.ID, budgets.Reserved, budgets.Free, budgets.InUse, 25*dollar)
	if n, err := w.Sweep(t.Context()); n != 0 || err != nil {
		t.Errorf("too early: %d %v", n, err)
	}
	if err := w.Undo(t.Context(), w.who, b.ID, line); err != nil {
		t.Fatal(err)
	}
	limit := func(want int) {
		t.Helper()
		if got := w.get(b.ID).State; *got.Limits.Money != spend.Nanos(want)*dollar || w.unequal() != 0 {
			t.Errorf("the limit is %s, want %d", got.Limits.Money.USD(), want)
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
	if err := w.Undo(t.Context(), w.who, b.ID, line); !fault.Is(err, fault.InvalidTransition) {
		t.Errorf("taken back twice: %v", err)
	}
	past := time.Now().Add(-time.Hour)
	if _, err := w.Raise(t.Context(), w.who, b.ID, budgets.Raise{Amount: dollar, Until: &past}); !fault.Is(err, fault.Validation) {
		t.Error(err)
	}
}

// Two transfers of the last dollar: one gets it, whichever waits for the other.
func TestTwoTransfersOfTheLastDollar(t *testing.T) {
	w := newWorld(t)
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
	w := newWorld(t)
	rapid.Check(t, func(r *rapid.T) {
		dbfactory.Exec(t, w.db, `DELETE FROM budget`)
		list := []ids.ID{w.made(monthly(50)).ID, w.made(monthly(50)).ID, w.made(monthly(50)).ID}
		var lines []struct {
			budget ids.ID
			id     int64
		}
		keep := func(budget ids.ID, id int64, err error) {
			if err == nil {
				lines = append(lines, struct {
					budget ids.ID
					id     int64
				}{budget, id})
			} else if !fault.Is(err, fault.OverBudget) {
				r.Fatal(err)
			}
		}
		total := func() int {
			return dbfactory.Int(t, w.db, `SELECT sum(limit_nanos)::bigint FROM budget_period`)
		}
		for range rapid.IntRange(1, 16).Draw(r, "steps") {
			id := rapid.SampledFrom(list).Draw(r, "budget")
			amount := spend.Nanos(rapid.IntRange(1, 40).Draw(r, "amount"))*dollar + 1
			before, state := total(), w.get(id).State
			free, _ := state.Free()
			switch rapid.IntRange(0, 7).Draw(r, "step") {
			case 0, 1:
				to := rapid.SampledFrom(list).Filter(func(o ids.ID) bool { return o != id }).Draw(r, "to")
				line, err := w.Transfer(t.Context(), w.who, id, budgets.Transfer{To: to, Amount: amount})
				if keep(id, line, err); (err == nil) != (amount <= free) || total() != before {
					r.Fatalf("%s of %s free: %v, %d before, %d after", amount.USD(), free.USD(), err, before, total())
				}
			case 2:
				line, err := w.Raise(t.Context(), w.who, id, budgets.Raise{Amount: amount})
				keep(id, line, err)
			case 3:
				limit := budgets.Ceiling[spend.Nanos]{Set: true, Value: &amount}
				if _, err := w.Change(t.Context(), w.who, id, budgets.Patch{Money: limit}); err != nil {
					r.Fatal(err)
				}
			case 4:
				w.book(id, budgets.Reserved, budgets.Free, budgets.InUse, amount)
			case 5:
				w.book(id, budgets.Settled, budgets.InUse, budgets.Consumed, min(amount, state.Reserved.Money))
			case 6:
				w.book(id, budgets.Freeing, budgets.InUse, budgets.Free, min(amount, state.Reserved.Money))
			case 7:
				if len(lines) > 0 {
					l := rapid.SampledFrom(lines).Draw(r, "line")
					if err := w.Undo(t.Context(), w.who, l.budget, l.id); err != nil && !fault.Is(err, fault.OverBudget) &&
						!fault.Is(err, fault.InvalidTransition) {
						r.Fatal(err)
					}
				}
			}
			if _, err := w.Sweep(t.Context()); err != nil {
				r.Fatal(err)
			}
			if n := w.unequal(); n != 0 {
				r.Fatalf("%d periods are not what their ledger says", n)
			}
		}
	})
}
