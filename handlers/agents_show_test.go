package handlers

import (
	"net/http"
	"net/url"
	"testing"

	"fleetboard/internal/fleet"
	"fleetboard/internal/jobs"
	"fleetboard/internal/tenancy"
)

func TestAgentsPage(t *testing.T) {
	d := newDesk(t)
	wantText(t, page(t, d.get("/agents"), http.StatusOK), "#agents-panel", "No factory has reported yet")
	d.job("Alpha")
	d.claim(d.agent("claude-1"))
	d.agent("claude-2")
	doc := page(t, d.get("/agents"), http.StatusOK)
	wantText(t, doc, "#agents-count", "2 live factories, 2 agents")
	wantText(t, doc, "#factory-factory-of-claude-1", "linux · claude")
	wantText(t, doc, "#factory-factory-of-claude-1", "1 of 2 free")
	wantText(t, doc, "#factory-factory-of-claude-1 tbody tr", "Starting")
	wantText(t, doc, "#factory-factory-of-claude-1 tbody tr", "FB-1 goes back to Ready.")
	wantText(t, doc, "#factory-factory-of-claude-2 tbody tr", "Idle")
	wantCount(t, doc, "form[action='/factories/factory-of-claude-1/drain']", 1)

	doc = page(t, d.as(tenancy.RoleMember).get("/agents"), http.StatusOK)
	wantCount(t, doc, "#agents-panel form", 0)
}

func TestDrainAndTerminate(t *testing.T) {
	d := newDesk(t)
	d.job("Alpha")
	j := d.claim(d.agent("claude-1"))
	wantRedirect(t, d.post("/factories/factory-of-claude-1/drain", nil), "/agents")
	doc := page(t, d.get("/agents"), http.StatusOK)
	wantText(t, doc, "#toasts", "factory-of-claude-1 is draining")
	wantText(t, doc, "#factory-factory-of-claude-1-note", "Drained by Mara Ilić")
	wantText(t, doc, "#fleet", "drain")
	doc = page(t, d.hx("/agents", "/factories/factory-of-claude-1/undrain", nil), http.StatusOK)
	wantCount(t, doc, "#agents-panel form[action='/factories/factory-of-claude-1/drain']", 1)

	read(t, d.hx("/agents", "/agents/claude-1/terminate", url.Values{"graceful": {"1"}, "reason": {"Old model"}}), http.StatusOK)
	if now := d.now(j); now.Status != jobs.Assigned {
		t.Errorf("a graceful end took the job: %s", now.Status)
	}
	doc = page(t, d.hx("/agents", "/agents/claude-1/terminate", url.Values{"graceful": {"0"}}), http.StatusOK)
	wantText(t, doc, "#agents-panel", "Ended")
	if now := d.now(j); now.Status != jobs.Ready {
		t.Errorf("the job is %s", now.Status)
	}
	read(t, d.hx("/agents", "/agents/nobody/terminate", nil), http.StatusNotFound)
	read(t, d.post("/factories/nowhere/drain", nil), http.StatusNotFound)
}

func TestPalette(t *testing.T) {
	d := newDesk(t)
	d.job("Fix the reaper")
	d.agent("claude-1")
	doc := page(t, d.get("/palette?q=reap"), http.StatusOK)
	wantCount(t, doc, "a[role=option][href='/jobs/FB-1']", 1)
	wantText(t, doc, "mark", "reap")
	wantCount(t, page(t, d.get("/palette?q=fb-1"), http.StatusOK), "a[href='/jobs/FB-1']", 1)
	wantCount(t, page(t, d.get("/palette?q=factory-of"), http.StatusOK), "a[href='/agents#factory-factory-of-claude-1']", 1)
	wantCount(t, page(t, d.get("/palette"), http.StatusOK), "a[href='/jobs/new']", 1)
	wantCount(t, page(t, d.as(tenancy.RoleViewer).get("/palette"), http.StatusOK), "a[href='/jobs/new']", 0)
}

// A seat that no idle agent fills is not called free, here as in the sidebar.
func TestSeatsText(t *testing.T) {
	idle, busy := fleet.Agent{MaxConcurrentJobs: 1}, fleet.Agent{MaxConcurrentJobs: 1, Taken: 1}
	for want, f := range map[string]fleet.Factory{
		"1 of 4 free":          {Seats: 4, Taken: 1, Agents: []fleet.Agent{idle, busy}},
		"1 of 4 taken":         {Seats: 4, Taken: 1, Agents: []fleet.Agent{busy}},
		"1 of 1 taken":         {Seats: 1, Taken: 1, Agents: []fleet.Agent{busy, idle}},
		"1 of 4 still working": {Seats: 4, Taken: 1, Draining: true, Agents: []fleet.Agent{busy}},
		"4 seats gone":         {Seats: 4, Health: fleet.Dead},
	} {
		if got := seatsText(f); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
