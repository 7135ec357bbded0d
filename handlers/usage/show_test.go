package usage_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/fleetboard/fleetboard/e2e/handlertest"
	"github.com/fleetboard/fleetboard/internal/dispatch/lease"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

func TestNothingWasUsed(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	doc := handlertest.Page(t, d.As(tenancy.RoleViewer).Get("/usage"), http.StatusOK)
	handlertest.WantText(t, doc, "#usage-scroll", "Nothing was used")
	handlertest.WantCount(t, doc, ".nav a[href='/budgets'][aria-current=page], .subnav a[href='/usage'][aria-current=page]", 2)
}

// The page sums up what was used in groups that filter each other; a group in force takes
// its filter away.
func TestShowUsage(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	agent := d.Agent("ada")
	one := d.Job("<b>One</b>", func(n *jobs.New) { n.Phase = "m1" })
	d.Claim(agent)
	d.Use(agent, lease.Ref{Job: one.Key, Epoch: 1}, "a", "1.25", 1000)
	d.Use(agent, lease.Ref{Job: one.Key, Epoch: 1}, "b", "", 500)

	doc := handlertest.Page(t, d.Get("/usage"), http.StatusOK)
	handlertest.WantText(t, doc, "#usage .big", "$1.25 + unpriced")
	handlertest.WantText(t, doc, "#by-agent", "ada")
	handlertest.WantText(t, doc, "#by-phase", "m1")
	handlertest.WantText(t, doc, "#by-job", "<b>One</b>")
	handlertest.WantCount(t, doc, "#entries tbody tr", 2)
	handlertest.WantCount(t, doc, "#entries a[href='/jobs/"+one.Key+"']", 2)
	handlertest.WantCount(t, doc, "#days .ub-t tbody tr", 1)
	handlertest.WantCount(t, doc, "#days .ub-p g rect.ub-1", 1)
	handlertest.WantText(t, doc, "#days .ub-k", "default")
	handlertest.WantCount(t, doc, "#unpriced a[href^='/prices?model=']", 1)
	handlertest.WantCount(t, handlertest.Page(t, d.As(tenancy.RoleMember).Get("/usage"), http.StatusOK), "#unpriced a", 0)

	filtered := handlertest.Page(t, d.Get("/usage?agent=ada&days=7&phase=m1"), http.StatusOK)
	handlertest.WantText(t, filtered, ".chips-on", "Agent: ada")
	handlertest.WantCount(t, filtered, "#by-agent a[aria-current][href='/usage?days=7&phase=m1']", 1)
	handlertest.WantCount(t, filtered, "#by-product a[href='/usage?agent=ada&days=7&phase=m1&product=default']", 1)
	handlertest.WantCount(t, filtered, "#days .ub-t tbody tr", 1)
	both := handlertest.Page(t, d.Get("/usage?model=sonnet&model=b&phase=m1"), http.StatusOK)
	handlertest.WantText(t, both, "#usage .big", "$1.25 + unpriced")
	handlertest.WantCount(t, both, ".chip-on a[href='/usage?model=sonnet&phase=m1'], .chip-on a[href='/usage?model=b&phase=m1']", 2)
	handlertest.WantCount(t, both, "#usage-filters a[aria-current][href='/usage?model=b&phase=m1']", 1)
	other := handlertest.Page(t, d.Get("/usage?model=b"), http.StatusOK)
	handlertest.WantCount(t, other, "#usage-filters a[href='/usage?model=b&model=sonnet']", 1)
	none := handlertest.Page(t, d.Get("/usage?agent=bob"), http.StatusOK)
	handlertest.WantText(t, none, "#usage-scroll", "Nothing passes the filters")
	refused := handlertest.Page(t, d.Get("/usage?days=2"), http.StatusUnprocessableEntity)
	handlertest.WantText(t, refused, ".err-in li", "days It must be 1, 7, 30, 90 or 365.")
	plain := handlertest.Request(http.MethodGet, "/usage?days=2", nil)
	plain.Header.Set("Accept", "text/plain")
	if text := handlertest.Read(t, d.Do(plain), http.StatusUnprocessableEntity); !strings.Contains(text, "days: It must be 1, 7, 30, 90 or 365.") {
		t.Errorf("a program reads %q", text)
	}
	handlertest.WantStatus(t, d.Get("/usage?before=x"), http.StatusUnprocessableEntity)
	handlertest.WantStatus(t, d.Get("/usage/groups.csv?by=colour"), http.StatusUnprocessableEntity)

	groups := d.Get("/usage/groups.csv?by=phase&agent=ada")
	if kind, named := groups.Header.Get("Content-Type"), groups.Header.Get("Content-Disposition"); !strings.HasPrefix(kind, "text/csv") ||
		!strings.HasPrefix(named, `attachment; filename="usage-by-phase-`) || !strings.HasSuffix(named, `.csv"`) {
		t.Errorf("it is %s, %s", kind, named)
	}
	if text := handlertest.Read(t, groups, http.StatusOK); !strings.Contains(text, "\nm1,,2,1500,") {
		t.Errorf("groups: %s", text)
	}
	if text := handlertest.Read(t, d.Get("/usage/entries.csv"), http.StatusOK); strings.Count(text, "\n") != 3 || !strings.Contains(text, "\nb,") {
		t.Errorf("entries: %s", text)
	}
	focus := d.Get("/usage/focus.csv?agent=ada")
	if named := focus.Header.Get("Content-Disposition"); !strings.HasPrefix(named, `attachment; filename="usage-focus-`) {
		t.Errorf("FOCUS is named %s", named)
	}
	if text := handlertest.Read(t, focus, http.StatusOK); !strings.HasPrefix(text, "BilledCost,") || strings.Count(text, "\n") < 2 {
		t.Errorf("FOCUS: %s", text)
	}
}

// More entries than a page has are reached page by page.
func TestOlderEntries(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	agent := d.Agent("ada")
	one := d.Job("One")
	d.Claim(agent)
	for _, id := range strings.Split("abcdefghijklmnopqrstuvwxyz", "") {
		d.Use(agent, lease.Ref{Job: one.Key, Epoch: 1}, id, "0.01", 1)
	}
	doc := handlertest.Page(t, d.Get("/usage"), http.StatusOK)
	older, ok := doc.Find("#entries a.more").Attr("href")
	if !ok {
		t.Fatal("there is no way to older entries")
	}
	handlertest.WantCount(t, handlertest.Page(t, d.Get(strings.TrimSuffix(older, "#entries")), http.StatusOK), "#entries tbody tr", 1)
}
