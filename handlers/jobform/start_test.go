package jobform_test

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/fleetboard/fleetboard/e2e/handlertest"
	"github.com/fleetboard/fleetboard/internal/dispatch/report"
	"github.com/fleetboard/fleetboard/internal/jobs"
)

// The preview names each thing that a job would wait for, and so does the message after
// the job was made.
func TestThePreviewSaysWhatAJobWaitsFor(t *testing.T) {
	repo := func(n *jobs.New) { n.Repo = "ledger-api" }
	one := 1
	for name, test := range map[string]struct {
		product jobs.ProductSettings
		before  func(d *handlertest.Workspace)
		preview string
		toast   string
	}{
		"nothing": {preview: "Starts at once, unless a more urgent job takes the seat.", toast: "A seat is free on factory-of-claude-1."},
		"a paused product": {product: jobs.ProductSettings{Paused: true}, preview: "It waits first. Its product ledger is paused.",
			toast: "Its product ledger is paused."},
		"a busy repo": {product: jobs.ProductSettings{Serialise: jobs.SerialiseRepo}, before: func(d *handlertest.Workspace) {
			agent := d.Agent("claude-2")
			d.Job("Holds the repo", repo)
			d.Claim(agent)
		}, preview: "It waits first. Repo busy: FB-1 holds ledger-api, claude-2 works on it.", toast: "Repo busy: FB-1 holds ledger-api"},
		"a review backlog": {product: jobs.ProductSettings{ReviewRequired: true, ReviewLimit: &one}, before: func(d *handlertest.Workspace) {
			d.HandIn(d.Agent("claude-2"), "In review", report.Completion{}, repo)
		}, preview: "It waits first. Review queue of ledger is full, 1 of 1 job in review.", toast: "Review queue of ledger is full"},
		"others ahead": {before: func(d *handlertest.Workspace) {
			low := 1
			d.Job("As urgent", repo)
			d.Job("Less urgent", repo, func(n *jobs.New) { n.Priority = &low })
			d.Job("Somewhere else", func(n *jobs.New) { n.Repo = "other" })
		}, preview: "It waits for its turn. 1 job of the same or a higher priority is ahead of it.",
			toast: "1 job of the same or a higher priority is ahead of it."},
	} {
		t.Run(name, func(t *testing.T) {
			d := handlertest.NewWorkspace(t)
			d.Agent("claude-1")
			test.product.Repos = []string{"ledger-api"}
			d.Product("ledger", test.product)
			if test.before != nil {
				test.before(d)
			}
			for _, path := range []string{"/jobs/new/routability?repo=ledger-api&priority=5", "/jobs/new?title=Alpha"} {
				handlertest.WantText(t, handlertest.Page(t, d.Get(path), http.StatusOK), "#routability", test.preview)
			}
			asked := handlertest.Page(t, d.Get("/jobs/new"), http.StatusOK)
			handlertest.WantCount(t, asked, "#repo[data-route], #product[data-route], #priority[data-route], #not_before[data-route]", 4)
			d.Post("/jobs", handlertest.Filled(url.Values{"repo": {"ledger-api"}}))
			handlertest.WantText(t, handlertest.Page(t, d.Get("/board"), http.StatusOK), "#toasts", test.toast)
		})
	}
}
