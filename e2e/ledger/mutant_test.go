package ledger

import (
	"os"
	"testing"

	"github.com/fleetboard/fleetboard/e2e/mutanttest"
)

// mutants are programs with a fault in their accounts. Each has to be found out in fewer than
// a hundred lives. The first one is what once kept a lease from ending; those after the fourth
// are looked for where FLEETBOARD_LEDGER_LIVES is set (make soak).
var mutants = []struct{ name, file, old, new string }{
	{"what begins to be reserved is not less what the same call settles", "db/dbsqlc/budget_reservation.sql.go",
		"t.more_nanos - t.held_nanos, t.more_tokens - t.held_tokens\n    FROM t WHERE t.is_new", "t.more_nanos, t.more_tokens\n    FROM t WHERE t.is_new"},
	{"the jobs of one claim find the same room", "internal/budgeting/decide.go", "\tb.state.Reserved.Money += s.nanos\n", ""},
	{"late usage reserves", "internal/budgeting/charge.go", "(reserved || s.lasts[ch.Lease])", "(reserved || ch.Epoch > 0)"},
	{"what is raised is charged whole", "internal/spend/record.go", ".minus(stood.usage(stood.cost(k.price)))", ""},
	{"a transfer takes what is reserved", "internal/spend/budgets/move.go", "case free < t.Amount:", "case free+giver.State.Reserved.Money < t.Amount:"},
	{"usage of yesterday is charged today", "internal/budgeting/charge.go", "start, _ := b.bounds(ch.At)\n\tkey := periodKey", "start, _ := b.bounds(s.now)\n\tkey := periodKey"},
	{"what is left of a raise stays", "internal/spend/budgets/move.go", "return q.BudgetRaiseTake(ctx, tx, int64(take), who.Workspace, r.line)", "return nil"},
	{"an entry takes no tokens of what is free", "internal/budgeting/store_charge.go", "one.FreeNanos, one.FreeTokens, one.Unpriced)", "one.FreeNanos, 0, one.Unpriced)"},
	{"a budget is removed with what leases hold", "internal/spend/budgets/change.go", "if err := freeAllTx(ctx, tx, who.Workspace, found[0], who.Name); err != nil {", "if err != nil {"},
}

func TestMutantsAreFound(t *testing.T) {
	hunt := mutanttest.Hunt{Package: "github.com/fleetboard/fleetboard/e2e/ledger", Test: "TestLivesOfTheLedger", Env: []string{"FLEETBOARD_LEDGER_LIVES=99"}, Trail: trail}
	for i, m := range mutants {
		overlay := mutanttest.Overlay(t, m.file, m.old, m.new) // all can be made, also where few are looked for
		if i >= 4 && os.Getenv("FLEETBOARD_LEDGER_LIVES") == "" {
			continue
		}
		t.Run(m.name, func(t *testing.T) {
			if !hunt.Finds(t, overlay) {
				t.Fatal("its accounts look right")
			}
		})
	}
}
