package dispatch_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/internal/dispatch/report"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/spend"
	"github.com/fleetboard/fleetboard/internal/spend/budgets"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// spendsOn reports entries in one call: what each cost in cents, by their names.
func (w *testWorkspace) spendsOn(agent tenancy.Principal, j jobs.Job, list ...any) {
	w.T.Helper()
	var lines []report.UsageLine
	for i := 0; i < len(list); i += 2 {
		cost := spend.Nanos(list[i+1].(int) * 10_000_000).USD()
		lines = append(lines, report.UsageLine{Lease: ref(j), Entry: spend.Entry{ID: list[i].(string), Provider: "house", Model: "house-1",
			Input: 1, CostUSD: &cost, At: time.Now()}})
	}
	answers, err := w.Dispatch.RecordUsage(w.Ctx, agent, lines)
	for _, a := range answers {
		if a.Refused != nil {
			w.T.Fatal(a.Refused)
		}
	}
	if err != nil {
		w.T.Fatal(err)
	}
}

// rows reads the ledger of a budget's present period in pages of two, the newest first, and
// checks that it adds up to the period: kind, entry, cents that were added, taken and reserved,
// and what is left.
func (w *testWorkspace) rows(b budgets.Budget) (list []string) {
	w.T.Helper()
	var added, taken, held, left spend.Nanos
	var state budgets.State
	query := budgets.RowsQuery{Limit: 2}
	for first := true; ; first = false {
		page, err := w.money().Rows(w.Ctx, w.Owner, b.ID, query)
		if err != nil {
			w.T.Fatal(err)
		}
		if state = page.Period; first && state.Money != nil {
			left = *state.Money - state.Settled.Money
		}
		for _, r := range page.Rows {
			const cent = 10_000_000
			list = append(list, strings.TrimSpace(fmt.Sprintf("%s %s +%d -%d %d =%d %s", r.Kind, r.Entry, r.Added.Money/cent, r.Taken.Money/cent,
				r.Held.Money/cent, r.Left.Money/cent, strings.Trim(fmt.Sprint(r.Agent, " ", r.Epoch, " ", r.Model), " 0"))))
			if r.Left.Money != left {
				w.T.Errorf("%s: %s is left; want %s", r.Kind, r.Left.Money.USD(), left.USD())
			}
			left += r.Taken.Money - r.Added.Money
			added, taken, held = added+r.Added.Money, taken+r.Taken.Money, held+r.Held.Money
		}
		if page.Next == "" {
			break
		}
		if query.From, err = budgets.ParseRowCursor("before", page.Next); err != nil {
			w.T.Fatal(err)
		}
	}
	if state.Money == nil || added-taken != *state.Money-state.Settled.Money || held != state.Reserved.Money || left != 0 {
		w.T.Errorf("%s added, %s taken, %s reserved by the rows; %s before the first; the period: %+v", added.USD(), taken.USD(), held.USD(),
			left.USD(), state)
	}
	return list
}

func (w *testWorkspace) wantRows(b budgets.Budget, want ...string) {
	w.T.Helper()
	if got := w.rows(b); !slices.Equal(got, want) {
		w.T.Errorf("the rows of %s are\n%s\nwant\n%s", b.Name, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// Each entry of a report is a row of every budget that its job counts for, also where one lease
// reported several, and where a part of it was reserved and the rest was free. What is told
// again is no row.
func TestALedgerHasARowForEachEntry(t *testing.T) {
	w := newTestWorkspace(t)
	agent := w.Agent("claude-1")
	all, product := w.budget(100), w.budget(50, named("Product"), func(in *budgets.Input) {
		in.Scope, in.Product, in.Slice = budgets.Product, "default", new(spend.Nanos(10_000_000))
	})
	w.Job("one")
	j := w.Claim(agent)
	w.spendsOn(agent, j, "m-1", 3, "m-2", 12, "m-3", 1)
	w.wantRows(all,
		"top_up  +0 -0 10 =84 claude-1 1",
		"settle m-3 +0 -1 -1 =84 claude-1 1 house-1",
		"settle m-2 +0 -12 -7 =85 claude-1 1 house-1",
		"settle m-1 +0 -3 -3 =97 claude-1 1 house-1",
		"settle  +0 -0 0 =100",
		"reserve  +0 -0 10 =100 claude-1 1",
		"grant  +100 -0 0 =100")
	w.wantRows(product,
		"top_up  +0 -0 3 =34 claude-1 1",
		"settle m-3 +0 -1 -1 =34 claude-1 1 house-1",
		"settle m-2 +0 -12 -1 =35 claude-1 1 house-1",
		"settle m-1 +0 -3 -1 =47 claude-1 1 house-1",
		"settle  +0 -0 0 =50",
		"reserve  +0 -0 1 =50 claude-1 1",
		"grant  +50 -0 0 =50")
	w.ledgerIsRight()

	lines, rows := w.ledgerLines(all), len(w.rows(all))
	w.spendsOn(agent, j, "m-1", 3, "m-2", 12, "m-2", 12)
	if w.ledgerLines(all) != lines || len(w.rows(all)) != rows {
		t.Errorf("entries that are known have lines:\n%s", strings.Join(w.rows(all), "\n"))
	}
	// What is told of an entry later is a row of its own, by what it was raised.
	w.spendsOn(agent, j, "m-1", 4, "m-4", 2)
	if got := w.rows(all)[:2]; !slices.Equal(got, []string{"settle m-1 +0 -1 -1 =81 claude-1 1 house-1", "settle m-4 +0 -2 -2 =82 claude-1 1 house-1"}) {
		t.Errorf("raised: %s", strings.Join(got, "\n"))
	}
	w.ledgerIsRight()
}

func (w *testWorkspace) ledgerLines(b budgets.Budget) int {
	return dbfactory.Int(w.T, w.DB, `SELECT count(*) FROM budget_ledger WHERE budget_id = $1`, b.ID)
}

// A report of many entries is a line or two of each budget, and as many rows as entries.
func TestManyEntriesAreFewLines(t *testing.T) {
	w := newTestWorkspace(t)
	agent := w.Agent("claude-1")
	b := w.budget(100_000)
	w.Job("one")
	j := w.Claim(agent)
	before := w.ledgerLines(b)
	var list []any
	for i := range 150 {
		list = append(list, fmt.Sprint("m-", i), 1+i%7)
	}
	w.spendsOn(agent, j, list...)
	if n := w.ledgerLines(b) - before; n > 3 {
		t.Errorf("%d lines were written", n)
	}
	var entries []string
	for _, r := range w.rows(b) {
		if strings.HasPrefix(r, "settle m-") {
			entries = append(entries, strings.Fields(r)[1])
		}
	}
	if len(entries) != 150 || entries[0] != "m-149" || entries[149] != "m-0" {
		t.Errorf("%d entries have rows: %v", len(entries), entries)
	}
	w.ledgerIsRight()
}

// Lines that were written before entries had theirs stand as they are.
func TestOldLinesAreRows(t *testing.T) {
	w := newTestWorkspace(t)
	agent := w.Agent("claude-1")
	b := w.budget(100)
	w.Job("one")
	j := w.Claim(agent)
	w.spendsOn(agent, j, "m-1", 3, "m-2", 12)
	dbfactory.Exec(t, w.DB, `UPDATE budget_ledger SET entries = NULL, entry_nanos = NULL, entry_tokens = NULL, at = at + id * interval '1 microsecond'`)
	if got := w.rows(b)[1:3]; !slices.Equal(got, []string{"settle  +0 -5 0 =85 claude-1 1", "settle  +0 -10 -10 =90 claude-1 1"}) {
		t.Errorf("old lines are\n%s", strings.Join(got, "\n"))
	}
}
