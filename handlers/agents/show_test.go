package agents_test

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/e2e/handlertest"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

func TestAgentsPage(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	handlertest.WantText(t, handlertest.Page(t, d.Get("/agents"), http.StatusOK), "#agents-panel", "No factory has reported yet")
	d.Job("Alpha")
	d.Claim(d.Agent("claude-1"))
	d.Agent("claude-2")
	doc := handlertest.Page(t, d.Get("/agents"), http.StatusOK)
	handlertest.WantText(t, doc, "#agents-count", "2 live factories, 2 agents")
	handlertest.WantText(t, doc, "#factory-factory-of-claude-1", "linux · claude")
	handlertest.WantText(t, doc, "#factory-factory-of-claude-1", "1 of 2 taken")
	handlertest.WantText(t, doc, "#factory-factory-of-claude-1 tbody tr", "Starting")
	handlertest.WantText(t, doc, "#factory-factory-of-claude-1 tbody tr", "FB-1 goes back to Ready.")
	handlertest.WantText(t, doc, "#factory-factory-of-claude-2 tbody tr", "Idle")
	handlertest.WantCount(t, doc, "form[action='/factories/factory-of-claude-1/drain']", 1)

	dbfactory.Exec(t, d.DB, `UPDATE agent SET provider = 'anthropic' WHERE name = 'claude-2'`)
	dbfactory.Exec(t, d.DB, `INSERT INTO provider_hold (workspace_id, provider, enrolment_id, until)
		SELECT workspace_id, provider, coalesce(enrolment_id, '00000000-0000-0000-0000-000000000000'), '2099-01-01' FROM agent WHERE name = 'claude-2'`)
	d.Job("Beta")
	doc = handlertest.Page(t, d.Get("/agents"), http.StatusOK)
	handlertest.WantText(t, doc, "#factory-factory-of-claude-2 tbody tr", "Rate limited until 1 Jan 2099")
	doc = handlertest.Page(t, d.As(tenancy.RoleMember).Get("/agents"), http.StatusOK)
	handlertest.WantCount(t, doc, "#agents-panel form", 0)
}

// The token that the first start wrote is of the first workspace: no other one is shown
// its file, with a factory or without.
func TestTheFirstWorkspacesTokenIsShownToNoOther(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	other := d.AlsoIn("Other Labs", tenancy.RoleOwner)
	handlertest.WantText(t, handlertest.Page(t, d.Get("/agents"), http.StatusOK), "#add-factory .cmd", "/data/enrolment-token")
	d.SwitchTo(other, "/agents")
	id, ok := ids.Parse(other)
	if !ok {
		t.Fatal(other)
	}
	for factories := range 2 {
		doc := handlertest.Page(t, d.Get("/agents"), http.StatusOK)
		handlertest.WantCount(t, doc, "#agents-panel .factory", factories)
		handlertest.WantCount(t, doc, ".cmd", 0)
		handlertest.WantText(t, doc, "#add-factory", "Make a token and show the lines")
		d.Workspace = id
		d.Agent("theirs")
	}
}

func TestDrainAndTerminate(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	d.Job("Alpha")
	j := d.Claim(d.Agent("claude-1"))
	handlertest.WantRedirect(t, d.Post("/factories/factory-of-claude-1/drain", nil), "/agents")
	doc := handlertest.Page(t, d.Get("/agents"), http.StatusOK)
	handlertest.WantText(t, doc, "#toasts", "factory-of-claude-1 is draining")
	handlertest.WantText(t, doc, "#factory-factory-of-claude-1-note", "Drained by Mara Ilić")
	handlertest.WantText(t, doc, "#fleet", "drain")
	doc = handlertest.Page(t, d.Hx("/agents", "/factories/factory-of-claude-1/undrain", nil), http.StatusOK)
	handlertest.WantCount(t, doc, "#agents-panel form[action='/factories/factory-of-claude-1/drain']", 1)

	handlertest.Read(t, d.Hx("/agents", "/agents/claude-1/terminate", url.Values{"graceful": {"1"}, "reason": {"Old model"}}), http.StatusOK)
	if now := d.Now(j); now.Status != jobs.Assigned {
		t.Errorf("a graceful end took the job: %s", now.Status)
	}
	doc = handlertest.Page(t, d.Hx("/agents", "/agents/claude-1/terminate", url.Values{"graceful": {"0"}}), http.StatusOK)
	handlertest.WantText(t, doc, "#agents-panel", "Ended")
	if now := d.Now(j); now.Status != jobs.Ready {
		t.Errorf("the job is %s", now.Status)
	}
	handlertest.Read(t, d.Hx("/agents", "/agents/nobody/terminate", nil), http.StatusNotFound)
	handlertest.Read(t, d.Post("/factories/nowhere/drain", nil), http.StatusNotFound)
}
