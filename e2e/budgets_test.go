package e2e

import (
	"fmt"
	"os"
	"testing"
)

// A budget is made in the form, and its chart says what its table says, without an
// accessibility fault in either theme, in wide windows and on a phone.
func TestTheChartOfABudget(t *testing.T) {
	t.Parallel()
	script, err := os.ReadFile(axeFile)
	if err != nil {
		t.Fatalf("run tools/ensure-test-deps.sh: %v", err)
	}
	s := startServer(t)
	v := s.visit(desktop)
	v.logIn()
	v.open("/budgets/new")
	v.must("name it", v.tab.Locator("#name").Fill("Everything"))
	v.must("limit it", v.tab.Locator("#limit_usd").Fill("250"))
	v.must("make it", v.tab.Locator("#budget-form button[type=submit]").Click())
	v.sees("text=Everything, free of $250.00")
	for _, theme := range []string{"light", "dark"} {
		for _, width := range []int{390, 1440} {
			v := s.visit(look{theme: theme, width: width, height: 900})
			v.logIn()
			for _, path := range []string{"/budgets", "/budgets/new"} {
				v.open(path)
				v.checkAxe(string(script), fmt.Sprintf("budgets-%d-%s", width, theme))
			}
			v.open("/budgets")
			v.sees("#burn-down svg.chart:visible")
			v.must("open the table", v.tab.Locator("#burn-down-table summary").Click())
			v.sees("#burn-down-table td:has-text('$250.00')")
		}
	}
}
