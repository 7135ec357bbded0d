package e2e

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/fleetboard/fleetboard/db/dbtest"
)

// lately fills what charts and lists of the last day and the last months are made of: a budget near
// its end with periods that have ended, and a queue with hours of which nothing is known.
var lately = []string{
	`UPDATE budget_period SET settled_nanos = 0.97 * limit_nanos`,
	`INSERT INTO budget_period (workspace_id, budget_id, period_start, period_end, limit_nanos, settled_nanos, settled_tokens, runs)
	SELECT b.workspace_id, b.id, date_trunc('month', now(), 'UTC') - make_interval(months => n), date_trunc('month', now(), 'UTC') - make_interval(months => n - 1),
		250e9, 70e9 * n, 1200000 * n, 40 * n FROM budget b, generate_series(1, 4) n ON CONFLICT DO NOTHING`,
	`INSERT INTO queue_hour (workspace_id, hour, kind, step, n)
	SELECT w.id, date_trunc('hour', now(), 'UTC') - make_interval(hours => h), k.kind, k.step, k.n
	FROM workspace w, generate_series(1, 23) h, LATERAL (VALUES
		('ready', 0, h % 7 - 3), ('leases', 0, h % 3 - 1), ('waited', 20 + h, 30 + h), ('waited', 36 + h, 3)) k(kind, step, n)
	WHERE h NOT BETWEEN 6 AND 9 ON CONFLICT DO NOTHING`,
	`INSERT INTO job_count (workspace_id, product_id, status, jobs) SELECT workspace_id, id, 'ready', 60 FROM product
	ON CONFLICT (workspace_id, product_id, status) DO UPDATE SET jobs = job_count.jobs + 60`,
}

func startLately(t *testing.T) *server {
	t.Helper()
	url := dbtest.URL(t)
	s, books := startOn(t, url, t.TempDir()), openLedger(t, url)
	furnish(t, s)
	for _, sql := range lately {
		if _, err := books.conn.Exec(t.Context(), sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	return s
}

// menusOf opens the menus of filters of the page one after another.
func (v *visitor) menusOf(look func(name string)) {
	v.t.Helper()
	buttons, err := v.tab.Locator("main [popovertarget]:visible, .top [popovertarget]:visible").All()
	v.must("find the menus", err)
	if len(buttons) == 0 {
		v.t.Errorf("%s has no menu", v.tab.URL())
	}
	for i, button := range buttons {
		v.must("open a menu", button.Click())
		v.sees("[popover]:popover-open")
		if first := v.tab.Locator("[popover]:popover-open details summary").First(); v.count("[popover]:popover-open details") > 0 {
			v.must("open a part of the menu", first.Click())
		}
		look(fmt.Sprint("menu-", i))
		v.must("close the menu", v.tab.Keyboard().Press("Escape"))
	}
}

// Charts with their tables, recommendations, past periods and open menus of filters have no
// accessibility fault, in either theme, in wide windows and on a phone.
func TestChartsAndMenusHaveNoAccessibilityFault(t *testing.T) {
	t.Parallel()
	script, err := os.ReadFile(axeFile)
	if err != nil {
		t.Fatalf("run tools/ensure-test-deps.sh: %v", err)
	}
	s := startLately(t)
	for _, theme := range []string{"light", "dark"} {
		for _, width := range []int{390, 1440} {
			v := s.visit(look{theme: theme, width: width, height: 900})
			v.logIn()
			check := func(name string) {
				v.checkAxe(string(script), fmt.Sprintf("%s-%d-%s", name, width, theme))
				v.wantFit(fmt.Sprintf("fit-%s-%d-%s", name, width, theme))
			}
			v.open("/status")
			for _, chart := range []string{"depth", "rates", "waits"} {
				v.sees("#queue-" + chart + " svg.ub-p[role=img] .ub-gap")
			}
			check("status-charts")
			for _, chart := range []string{"depth", "rates", "waits"} {
				v.click("#queue-" + chart + "-table summary")
				v.sees("#queue-" + chart + "-table td:has-text('not recorded')")
			}
			check("status-tables")
			v.open("/budgets")
			v.sees("#advice a")
			v.sees("#past-periods tbody tr")
			check("budgets-advised")
			for path, name := range map[string]string{"/board?product=default&priority=3": "board", "/usage?product=default": "usage"} {
				v.open(path)
				v.menusOf(func(menu string) { check(name + "-" + menu) })
			}
			for path, name := range map[string]string{"/timeline?type=job.claimed&type=job.created&job=FB-1&group=jobs": "timeline",
				"/search?q=reaper&in=logs&job=FB-1&job=FB-2": "search"} {
				v.open(path)
				v.sees(".chip-on")
				check(name + "-filtered")
			}
		}
	}
}

// Menus of filters and the tables of charts are used by the keyboard alone.
func TestChartsAndMenusByKeyboard(t *testing.T) {
	t.Parallel()
	s := startLately(t)
	v := s.visit(desktop)
	v.logIn()
	press := func(key string) {
		t.Helper()
		v.must("press "+key, v.tab.Keyboard().Press(key))
	}
	focused := func(selector string) {
		t.Helper()
		v.must("the focus is at "+selector, v.tab.Locator(selector+":focus").WaitFor())
	}
	for path, button := range map[string]string{"/board": "#fb-product", "/usage": "#usage-filters-btn"} {
		v.open(path)
		v.must("go to the menu", v.tab.Locator(button).Focus())
		press("Enter")
		v.sees("[popover]:popover-open")
		press("Tab")
		if v.count("[popover]:popover-open :focus") != 1 {
			t.Errorf("%s: the next stop is not in the menu", path)
		}
		press("Escape")
		focused(button)
		if v.count("[popover]:popover-open") != 0 {
			t.Errorf("%s: the menu stays open", path)
		}
	}
	v.open("/board")
	v.must("go to the menu", v.tab.Locator("#fb-product").Focus())
	press("Enter")
	press("Tab")
	press("Tab") // the first one is all products
	press("Enter")
	v.sees(".chip-on")
	v.open("/status")
	v.must("go to the table", v.tab.Locator("#queue-waits-table summary").Focus())
	press("Enter")
	v.sees("#queue-waits-table[open] td")
	press("Tab")
	focused("#queue-waits-table [role=region]")
	v.open("/budgets")
	v.must("go to the recommendation", v.tab.Locator("#advice a").First().Focus())
	press("Enter")
	v.sees("#raise-form button[type=submit]")
}

// Hours of charts are in the reader's zone and language, days of a calendar in his language alone, and
// an hour that the clock has twice is told twice.
func TestDatesOfChartsAndLists(t *testing.T) {
	t.Parallel()
	s := startLately(t)
	for _, how := range []look{
		{theme: "light", width: 1440, height: 900, zone: "Asia/Kolkata", locale: "de-DE"},
		{theme: "light", width: 1440, height: 900, zone: "America/New_York", locale: "en-US"},
	} {
		v := s.visit(how)
		v.logIn()
		for path, place := range map[string]string{"/status": "#queue-depth tbody th time", "/prices": "#builtin time", "/usage": "#days tbody th time, #usage-h time",
			"/budgets": "#past-periods tbody th time, #burn-down [data-rel]"} {
			v.open(path)
			v.sees("main")
			got, err := v.tab.Evaluate(`([place, zone, locale]) => {
				const wrong = [], all = [...document.querySelectorAll(place)].filter((e) => e.dataset.rel)
				for (const e of all) {
					const at = Date.parse(e.dateTime ?? e.dataset.at), write = (o) => new Intl.DateTimeFormat(locale, o).format(at)
					const fits = { until: [{ timeZone: zone, hour: "2-digit", minute: "2-digit" }, { timeZone: zone, day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" }],
						day: [{ timeZone: zone, day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" }],
						calendar: [{ timeZone: "UTC", day: "numeric", month: "short" }, { timeZone: "UTC", dateStyle: "medium" }],
						"calendar-date": [{ timeZone: "UTC", dateStyle: "medium" }], month: [{ timeZone: "UTC", month: "short", year: "numeric" }] }[e.dataset.rel]
					if (!fits?.some((o) => write(o) === e.textContent)) wrong.push(e.dataset.rel + " " + e.textContent)
				}
				return all.length + " " + wrong.join(", ")
			}`, []string{place, how.zone, how.locale})
			v.must("read the times", err)
			if n, wrong, _ := strings.Cut(fmt.Sprint(got), " "); n == "0" || wrong != "" {
				t.Errorf("%s, %s: of %s times these are written otherwise: %s", path, how.zone, n, wrong)
			}
		}
		if how.locale != "en-US" {
			continue
		}
		got, err := v.tab.Evaluate(`() => {
			const list = [["2025-11-02T05:00:00Z", "until"], ["2025-11-02T06:00:00Z", "until"], ["2025-11-02T00:00:00Z", "calendar"]].map(([at, rel]) => {
				const e = document.createElement("time")
				e.dateTime = at
				e.dataset.rel = rel
				return document.body.appendChild(e)
			})
			document.dispatchEvent(new Event("visibilitychange"))
			return list.map((e) => e.textContent.replaceAll("\u202f", " ")).join(" | ")
		}`)
		v.must("write an hour that is twice", err)
		if want := "Nov 2, 2025, 1:00 AM | Nov 2, 2025, 1:00 AM | Nov 2, 2025"; got != want {
			t.Errorf("the hours are %q; want %q", got, want)
		}
	}
}
