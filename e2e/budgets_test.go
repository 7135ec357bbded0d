package e2e

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/playwright-community/playwright-go"

	"github.com/fleetboard/fleetboard/api"
	"github.com/fleetboard/fleetboard/db/dbtest"
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
			for _, name := range []string{"Raise", "Transfer", "Edit", "Ledger"} {
				v.open("/budgets")
				v.must("open "+name, v.tab.Locator("#budget a.btn:has-text('"+name+"')").Click())
				v.sees("h1:visible")
				v.checkAxe(string(script), fmt.Sprintf("budget-%s-%d-%s", strings.ToLower(name), width, theme))
			}
			v.open("/budgets")
			v.sees("#burn-down svg.chart:visible")
			v.must("open the table", v.tab.Locator("#burn-down-table summary").Click())
			v.sees("#burn-down-table td:has-text('$250.00')")
		}
	}
}

// spent fills a budget without periods with 120 days, in which its limit was raised once,
// and leaves $219.82 free of $1,000.00.
var spent = []string{
	`INSERT INTO budget_period (workspace_id, budget_id, period_start, period_end, limit_nanos, settled_nanos, reserved_nanos)
	SELECT workspace_id, id, to_timestamp(0), '9999-01-01T00:00:00Z', 1000e9, 742.18e9, 38e9 FROM budget
	ON CONFLICT (workspace_id, budget_id, period_start) DO UPDATE SET limit_nanos = excluded.limit_nanos,
		settled_nanos = excluded.settled_nanos, reserved_nanos = excluded.reserved_nanos`,
	`INSERT INTO budget_hour (workspace_id, budget_id, period_start, hour, limit_nanos, settled_nanos, reserved_nanos, settled_tokens,
		reserved_tokens, runs)
	SELECT workspace_id, id, to_timestamp(0), date_trunc('hour', now(), 'UTC') - make_interval(hours => 24 * 120 - n),
		CASE WHEN n < 24 * 50 THEN 800e9 ELSE 1000e9 END, 742.18e9 * (n - 24 * sin(n / 24.0)) / (24 * 120), 1e9 * (n / 24 % 38), 0, 0, 0
	FROM budget, generate_series(0, 24 * 120 - 2) n
	ON CONFLICT DO NOTHING`,
}

// The line of a drawn chart goes through what its table says, point by point, in either
// theme, in wide windows and on a phone. What comes live moves neither the chart nor
// what is below it, and leaves the table open.
func TestTheDrawnChartIsItsTable(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t)
	s, books := startOn(t, url, t.TempDir()), openLedger(t, url)
	limit := "1000"
	answer, err := s.owner().CreateBudgetWithResponse(t.Context(), api.NewBudget{Name: "Everything",
		Scope: api.BudgetScopeWorkspace, Period: api.BudgetPeriodOnce, LimitUSD: &limit})
	if err != nil || answer.JSON201 == nil {
		t.Fatalf("make a budget: %v %s", err, answer.Body)
	}
	for _, sql := range spent {
		if _, err := books.conn.Exec(t.Context(), sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	var watched []*visitor
	for _, theme := range []string{"light", "dark"} {
		for _, width := range []int{390, 1440} {
			v := s.visit(look{theme: theme, width: width, height: 900})
			v.must("watch the policy", v.tab.AddInitScript(playwright.Script{Content: playwright.String(watchdog)}))
			v.must("watch the layout", v.tab.AddInitScript(playwright.Script{Content: playwright.String(shiftWatch)}))
			v.logIn()
			v.open("/budgets")
			v.must("be told of changes", v.tab.Locator(liveShown). // a phone does not show it
										WaitFor(playwright.LocatorWaitForOptions{State: playwright.WaitForSelectorStateAttached}))
			v.sees("#budgets-body:has-text('$219.82')")
			if dir := os.Getenv("FLEETBOARD_E2E_PICTURES"); dir != "" {
				v.picture(filepath.Join(dir, fmt.Sprintf("chart-%d-%s.png", width, theme)))
			}
			v.wantChart(120, "$219.82 free now")
			v.click("#burn-down-table summary")
			v.sees("#burn-down-table[open] td")
			watched = append(watched, v)
		}
	}
	for _, v := range watched {
		v.painted()
	}
	before := make([]string, len(watched))
	for i, v := range watched {
		before[i] = v.places()
	}
	if _, err := books.conn.Exec(t.Context(), `UPDATE budget_period SET settled_nanos = settled_nanos + 100e9`); err != nil {
		t.Fatal(err)
	}
	for i, v := range watched {
		v.must("see what is free by now", v.tab.Locator("#burn-down-table[open] tr:last-child:has-text('$119.82')").
			WaitFor(playwright.LocatorWaitForOptions{Timeout: playwright.Float(45_000)}))
		v.wantChart(120, "$119.82 free now")
		v.painted()
		if now := v.places(); now != before[i] {
			t.Errorf("what came live moved the page from\n%s to\n%s", before[i], now)
		}
		v.wantStill()
	}
}

// shiftWatch adds up what moves by itself.
const shiftWatch = `(() => {
	window.shifts = 0
	new PerformanceObserver((list) => list.getEntries().forEach((e) => { if (!e.hadRecentInput) window.shifts += e.value }))
		.observe({ type: "layout-shift", buffered: true })
})()`

// painted waits until the page is painted: two frames.
func (v *visitor) painted() {
	v.t.Helper()
	_, err := v.tab.Evaluate(`() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))`)
	v.must("wait for a frame", err)
}

// places are where the chart and the panels of the page are, in pixels.
func (v *visitor) places() string {
	v.t.Helper()
	got, err := v.tab.Evaluate(`() => [...document.querySelectorAll("#burn-down svg.chart, #budgets-body .panel, #burn-down-table")]
		.filter((e) => e.checkVisibility()).map((e) => {
			const r = e.getBoundingClientRect()
			return (e.id || e.getAttribute("class")) + " " + [r.x, r.y, r.width, r.height].join(" ")
		}).join("\n")`)
	v.must("find the panels", err)
	text, _ := got.(string)
	if strings.Count(text, "\n") < 3 {
		v.t.Fatalf("the page has only\n%s", text)
	}
	return text
}

// wantStill wants that nothing moved by itself and that the policy was kept.
func (v *visitor) wantStill() {
	v.t.Helper()
	got, err := v.tab.Evaluate(`() => JSON.stringify([window.shifts, localStorage.getItem("hostile") || ""])`)
	v.must("ask what moved", err)
	var shifts float64
	var refused string
	text, _ := got.(string)
	if err := json.Unmarshal([]byte(text), &[]any{&shifts, &refused}); err != nil {
		v.t.Fatal(err)
	}
	if shifts >= 0.02 || refused != "" {
		v.t.Errorf("the page moved by %g; %s", shifts, refused)
	}
}

// drawn is what a page has of a chart: the steps of its line, the lines of its grid and
// its table.
type drawn struct {
	Charts           int
	Role, Name, Line string
	Grid             []struct{ Path, Text string }
	Free             []string
}

const readChart = `() => {
	const shown = [...document.querySelectorAll("#burn-down svg.chart")].filter((e) => e.checkVisibility())
	const [svg] = shown
	const names = [...svg.querySelectorAll(".c-ax text[text-anchor=end]")].map((e) => e.textContent)
	return JSON.stringify({ charts: shown.length, role: svg.getAttribute("role"), name: document.getElementById(svg.getAttribute("aria-labelledby")).textContent.replace(/\s+/g, " "),
		line: svg.querySelector(".c-act").getAttribute("d"),
		grid: [...svg.querySelectorAll(".c-grid path")].map((e, i) => ({ path: e.getAttribute("d"), text: names[i] })),
		free: [...document.querySelectorAll("#burn-down-table tbody tr")].map((e) => e.children[1].textContent) })
}`

// wantChart wants one chart with at least so many points that goes through the amounts of
// the table to within half a pixel, and a name with a text.
func (v *visitor) wantChart(least int, name string) {
	v.t.Helper()
	raw, err := v.tab.Evaluate(readChart)
	v.must("read the chart", err)
	var d drawn
	text, _ := raw.(string)
	if err := json.Unmarshal([]byte(text), &d); err != nil {
		v.t.Fatal(err)
	}
	if d.Charts != 1 || d.Role != "img" || !strings.Contains(d.Name, name) {
		v.t.Errorf("%d charts show, of the role %s, called %s", d.Charts, d.Role, d.Name)
	}
	if len(d.Grid) < 2 {
		v.t.Fatalf("the grid is %v", d.Grid)
	}
	top, bottom := d.Grid[0], d.Grid[len(d.Grid)-1]
	perDollar := (height(v.t, bottom.Path) - height(v.t, top.Path)) / (amount(v.t, top.Text) - amount(v.t, bottom.Text))
	for _, line := range d.Grid {
		if at := height(v.t, bottom.Path) - amount(v.t, line.Text)*perDollar; math.Abs(at-height(v.t, line.Path)) > 0.5 {
			v.t.Errorf("%s is at %s", line.Text, line.Path)
		}
	}
	heights := heightsOf(v.t, d.Line)
	if len(heights) != len(d.Free) || len(d.Free) < least {
		v.t.Fatalf("the line has %d points, the table %d, of at least %d", len(heights), len(d.Free), least)
	}
	for i, free := range d.Free {
		told := (height(v.t, bottom.Path) - heights[i]) / perDollar
		if math.Abs(told-amount(v.t, free)) > 0.5/perDollar {
			v.t.Errorf("point %d is %s in the table and $%.2f in the drawing", i, free, told)
		}
	}
}

// heightsOf returns how far down the points of a line of steps are: "M64 14H70V20.5".
func heightsOf(t *testing.T, line string) []float64 {
	t.Helper()
	parts := strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune("M HV", r) })
	var heights []float64
	for i := 1; i < len(parts); i += 2 {
		heights = append(heights, parse(t, parts[i]))
	}
	return heights
}

// height returns how far down a line of the grid is: "M64 14H758".
func height(t *testing.T, path string) float64 {
	t.Helper()
	_, y, _ := strings.Cut(path, " ")
	y, _, _ = strings.Cut(y, "H")
	return parse(t, y)
}

// amount reads dollars: "$1,000.50".
func amount(t *testing.T, text string) float64 {
	t.Helper()
	return parse(t, strings.NewReplacer("$", "", ",", "", "−", "-").Replace(text))
}

func parse(t *testing.T, text string) float64 {
	t.Helper()
	n, err := strconv.ParseFloat(text, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
