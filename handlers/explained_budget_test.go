package handlers_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/e2e/handlertest"
	"github.com/fleetboard/fleetboard/internal/dispatch/actions"
	"github.com/fleetboard/fleetboard/internal/dispatch/claim"
	"github.com/fleetboard/fleetboard/internal/dispatch/lease"
	"github.com/fleetboard/fleetboard/internal/fleet"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/spend"
	"github.com/fleetboard/fleetboard/internal/spend/budgets"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// quarter is a hard budget of the workspace with two dollars, of which each lease reserves one.
func quarter(t *testing.T, d *handlertest.Workspace) {
	t.Helper()
	slice, limit := spend.Nanos(1_000_000_000), spend.Nanos(2_000_000_000)
	_, err := budgets.NewService(d.DB, quiet{}, nil).Create(t.Context(), d.Owner, budgets.Input{Name: "Quarter", Scope: budgets.Workspace,
		Period: budgets.Month, Hard: true, Limits: budgets.Limits{Money: &limit}, Slice: &slice})
	if err != nil {
		t.Fatal(err)
	}
}

type quiet struct{}

func (quiet) Publish(...string) {}

func model(name string) func(*fleet.Registration) {
	return func(r *fleet.Registration) { r.Model = name }
}

// Promise P12 for money: the card, the page and the form of a new job name the budget that
// keeps a job back, also before anybody claims it.
func TestMoneyThatKeepsAJobBackIsNamedOnItsPages(t *testing.T) {
	spent := func(t *testing.T, d *handlertest.Workspace) (tenancy.Principal, jobs.Job) {
		t.Helper()
		quarter(t, d)
		agent := d.Agent("claude-1")
		d.Job("First")
		first := d.Claim(agent)
		d.Use(agent, lease.Ref{Job: first.Key, Epoch: first.Epoch}, "m1", "3", 1)
		return agent, first
	}
	for name, c := range map[string]struct {
		make             func(*testing.T, *handlertest.Workspace) jobs.Job
		card, page, form string
		offers           string // a link on the page
	}{
		"a budget that is used up": {func(t *testing.T, d *handlertest.Workspace) jobs.Job {
			t.Helper()
			spent(t, d)
			return d.Job("Second")
		}, `"Quarter" has $0.00 free`, `"Quarter" has $0.00 free`, `"Quarter" has $0.00 free`, "/budgets?budget="},
		"a throttle": {func(t *testing.T, d *handlertest.Workspace) jobs.Job {
			t.Helper()
			quarter(t, d)
			dbfactory.Exec(t, d.DB, `UPDATE budget SET throttle = true, throttled_below = 9`)
			d.Agent("claude-1")
			return d.Job("Second")
		}, "would run out before its period ends", "waits for its budget", "would run out before its period ends", "/budgets?budget="},
		"a model without a price": {func(t *testing.T, d *handlertest.Workspace) jobs.Job {
			t.Helper()
			quarter(t, d)
			d.Agent("strange", model("house-7b"))
			return d.Job("Second")
		}, `The model "house-7b" has no price`, `"Quarter" lets only models with a price spend`, `The model "house-7b" has no price`, "/needs-you"},
		"a pause by a budget": {func(t *testing.T, d *handlertest.Workspace) jobs.Job {
			t.Helper()
			_, first := spent(t, d)
			dbfactory.Exec(t, d.DB, `DELETE FROM job_lease`)
			dbfactory.Exec(t, d.DB, `UPDATE job SET status = 'paused', status_by = 'budget', status_by_kind = 'system' WHERE id = $1`, first.ID)
			return first
		}, `"Quarter" has $0.00 free`, "is paused by its budget", "", "/budgets?budget="},
		"a pause that its agent has not carried out": {func(t *testing.T, d *handlertest.Workspace) jobs.Job {
			t.Helper()
			d.Job("First")
			first := d.Claim(d.Agent("claude-1"))
			d.Act(t, first.Key, actions.Action{Verb: jobs.ByPause})
			return first
		}, "Pausing… asked by", "Pausing… asked by", "", ""},
		"a cancel that its agent has not carried out": {func(t *testing.T, d *handlertest.Workspace) jobs.Job {
			t.Helper()
			d.Job("First")
			first := d.Claim(d.Agent("claude-1"))
			d.Act(t, first.Key, actions.Action{Verb: jobs.ByCancel, Reason: "not needed"})
			return first
		}, "Cancelling… asked by", "Cancelling… asked by", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			d := handlertest.NewWorkspace(t)
			j := c.make(t, d)
			if got := words(handlertest.Page(t, d.Get("/board"), http.StatusOK).Find(`[data-card="` + j.Key + `"]`)); !strings.Contains(got, c.card) {
				t.Errorf("the card says %q", got)
			}
			doc := handlertest.Page(t, d.Get("/jobs/"+j.Key), http.StatusOK)
			if got := words(doc.Find("main")); !strings.Contains(got, c.page) {
				t.Errorf("the page says %q", got)
			}
			if c.offers != "" && doc.Find(`#why a[href^="`+c.offers+`"]`).Length() == 0 {
				t.Errorf("the page leads nowhere: %q", words(doc.Find("#why")))
			}
			if c.form == "" {
				return
			}
			if got := words(handlertest.Page(t, d.Get("/jobs/new"), http.StatusOK).Find("main")); !strings.Contains(got, "It waits first. The") || !strings.Contains(got, c.form) {
				t.Errorf("the form says %q", got)
			}
		})
	}
}

// A model without a price waits for a person in Needs you, who says what it counts as, lets
// it pass or gives it a price; then it is gone from there.
func TestAModelWithoutAPriceNeedsAPerson(t *testing.T) {
	for name, answer := range map[string]func(*testing.T, *handlertest.Workspace){
		"count": func(t *testing.T, d *handlertest.Workspace) {
			t.Helper()
			handlertest.WantRedirect(t, d.Post("/prices/models", url.Values{"model": {"house-7b"}, "decision": {"count"}, "counts_as": {"openai/gpt-5-mini"}}), "/needs-you")
			doc := handlertest.Page(t, d.Get("/prices"), http.StatusOK)
			handlertest.WantText(t, doc, "#toasts", "house-7b counts as openai/gpt-5-mini")
			handlertest.WantText(t, doc, "#models", "counts as openai/gpt-5-mini")
		},
		"pass": func(t *testing.T, d *handlertest.Workspace) {
			t.Helper()
			handlertest.WantRedirect(t, d.Post("/prices/models", url.Values{"model": {"house-7b"}, "decision": {"pass"}}), "/needs-you")
			handlertest.WantText(t, handlertest.Page(t, d.Get("/prices"), http.StatusOK), "#models", "passes without a price")
			d.AwaitText(t, "/timeline", "main", "house-7b passes without a price")
		},
		"a price": func(t *testing.T, d *handlertest.Workspace) {
			t.Helper()
			handlertest.WantRedirect(t, d.Post("/prices", url.Values{"provider": {"house"}, "model": {"House-7B"}, "valid_from": {"2026-01-01"}, "input": {"1"},
				"output": {"1"}, "cache_read": {"1"}, "cache_write": {"1"}, "cache_write_1h": {"1"}}), "/prices")
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := handlertest.NewWorkspace(t)
			quarter(t, d)
			strange := d.Agent("strange", model("House-7B"), func(r *fleet.Registration) { r.Provider = "house" })
			d.Job("Build")
			if got, err := d.OtherProcess.Claim(t.Context(), strange, claim.Request{}); err != nil || got.Reason != claim.ReasonBudget {
				t.Fatalf("%+v, %v", got, err)
			}
			doc := handlertest.Page(t, d.Get("/needs-you"), http.StatusOK)
			handlertest.WantText(t, doc, "#needs-count", "1 model without a price")
			handlertest.WantText(t, doc, `[data-model="house-7b"]`, "strange uses it, and Quarter cannot count what it costs")
			handlertest.WantCount(t, doc, `[data-model="house-7b"] form[action="/prices/models"]`, 2)
			handlertest.WantCount(t, doc, `[data-model="house-7b"] a[href^="/prices?model=house-7b&provider=house"]`, 1)
			handlertest.WantText(t, doc, "#nav-needs-n", "1")
			handlertest.WantCount(t, handlertest.Page(t, d.As(tenancy.RoleMember).Get("/needs-you"), http.StatusOK), `[data-model="house-7b"] form`, 0)
			handlertest.WantRedirect(t, d.Post("/prices/models", url.Values{"model": {"house-7b"}, "decision": {"count"}, "counts_as": {"nothing"}}), "/needs-you")
			doc = handlertest.Page(t, d.Get("/needs-you"), http.StatusOK)
			handlertest.WantText(t, doc, "#toasts", "It must be a model that has a price")
			answer(t, d)
			handlertest.WantText(t, handlertest.Page(t, d.Get("/needs-you"), http.StatusOK), ".empty", "Nothing needs you")
			d.Claim(strange)
		})
	}
}
