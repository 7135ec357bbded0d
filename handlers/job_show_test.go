package handlers

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"fleetboard/db/dbtest"
	"fleetboard/internal/dispatch"
	"fleetboard/internal/jobs"
)

func TestJobPageOfARunningJob(t *testing.T) {
	d := newDesk(t)
	before := d.job("First things")
	d.job("Alpha", func(n *jobs.New) {
		n.Body, n.Acceptance, n.Repo = "Make it **so**.", []string{"It is so"}, "ledger-api"
		p := 9
		n.Priority = &p
	})
	d.job("After it", func(n *jobs.New) { n.DependsOn = []string{"FB-2"} })
	agent := d.agent("claude-1")
	j := d.claim(agent)
	done, step := 62, "Reaper tests"
	_, err := d.elsewhere.Progress(t.Context(), agent, dispatch.Ref{Job: j.Key, Epoch: j.Epoch},
		dispatch.Progress{Percent: &done, Step: &step, Checkpoint: json.RawMessage(`{"step":3}`)})
	if err != nil {
		t.Fatal(err)
	}
	doc := page(t, d.get("/jobs/FB-2"), http.StatusOK)
	wantText(t, doc, "h1", "Alpha")
	wantText(t, doc, ".strip", "claude-1 on factory-of-claude-1")
	wantText(t, doc, ".strip", "62% Reaper tests")
	wantText(t, doc, "#description strong", "so")
	wantText(t, doc, ".acc", "It is so")
	wantText(t, doc, "#attempt-1", "claude-1")
	wantText(t, doc, "#events", "claimed Ready Assigned")
	wantText(t, doc, "#events", "62%")
	wantText(t, doc, "#checkpoint", `"step": 3`)
	wantText(t, doc, "#links-words tbody", "FB-3waits for FB-2")
	wantText(t, doc, ".jobside", "factory-of-claude-1 of 1")
	wantCount(t, doc, "#why", 0)
	wantCount(t, doc, "#bar-pause", 1)
	wantCount(t, doc, "#dlg-cancel input[name=reason]", 1)
	wantCount(t, doc, "#live", 1)

	panel := page(t, d.get("/jobs/FB-2/panel"), http.StatusOK)
	wantCount(t, panel, `hx-partial[hx-target="#job-panel"] #job-panel`, 1)
	wantText(t, page(t, d.get("/jobs/"+before.ID.String()), http.StatusOK), "h1", "First things")
}

func TestJobPageOfWorkHandedIn(t *testing.T) {
	d := newDesk(t)
	d.job("Alpha", func(n *jobs.New) { yes := true; n.ReviewRequired = &yes })
	agent := d.agent("claude-1")
	j := d.claim(agent)
	_, err := d.elsewhere.Complete(t.Context(), agent, dispatch.Ref{Job: j.Key, Epoch: j.Epoch}, dispatch.Completion{
		Summary: "One **guarded** update", Commit: "9be04d1f00", Branch: "fleet/FB-1"})
	if err != nil {
		t.Fatal(err)
	}
	// An address that is no link never comes this far; a damaged row may have it.
	if _, err := dbtest.Owner(t, d.db).Exec(t.Context(),
		`UPDATE job SET result = jsonb_set(result, '{url}', '"javascript:alert(1)"') WHERE title = 'Alpha'`); err != nil {
		t.Fatal(err)
	}
	doc := page(t, d.get("/jobs/FB-1"), http.StatusOK)
	wantText(t, doc, "#result-commit", "9be04d1f00")
	wantText(t, doc, "#result strong", "guarded")
	wantCount(t, doc, "#result a[href^=javascript]", 0)
	wantText(t, doc, "#why", "Commit 9be04d1 waits for a review")
	wantCount(t, doc, "#bar-approve", 1)
	wantCount(t, doc, "#dlg-reject textarea[required]", 1)
}

func TestJobPageOfMergedWork(t *testing.T) {
	d := newDesk(t)
	d.job("Alpha", func(n *jobs.New) { n.ReviewRequired, n.Files = new(true), []string{"internal/**"} })
	agent := d.agent("claude-1")
	j := d.claim(agent)
	_, err := d.elsewhere.Complete(t.Context(), agent, dispatch.Ref{Job: j.Key, Epoch: j.Epoch}, dispatch.Completion{
		Commit: "9be04d1f00", URL: "https://git.example/pr/1", FilesTouched: []string{"internal/a.go", "internal/b.go"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range []dispatch.Action{{Verb: jobs.ByApprove}, {Verb: jobs.ByMerge, Commit: "77aa"}} {
		if _, err := d.Dispatch.Act(t.Context(), d.owner, j.Key, a); err != nil {
			t.Fatal(err)
		}
	}
	doc := page(t, d.get("/jobs/FB-1"), http.StatusOK)
	wantText(t, doc, "#approved-head", "9be04d1f00")
	wantText(t, doc, "#merged-commit", "77aa")
	wantText(t, doc, "#result", "2 files")
	wantText(t, doc, "#result a[href='https://git.example/pr/1']", "https://git.example/pr/1")
	wantText(t, doc, ".jobside", "internal/**")
}

func TestJobPageSaysWhoCouldRunIt(t *testing.T) {
	d := newDesk(t)
	d.agent("claude-1")
	d.job("Alpha", func(n *jobs.New) { n.Capabilities = []string{"engine:codex", "gpu:a100"} })
	doc := page(t, d.get("/jobs/FB-1"), http.StatusOK)
	wantText(t, doc, "#why", "No live factory can run FB-1")
	wantText(t, doc, "#why table", "factory-of-claude-1lacks engine:codexgpu:a100nearest miss")
}

func TestJobPageOfOlderEvents(t *testing.T) {
	d := newDesk(t)
	d.job("Alpha")
	for range 30 {
		for _, by := range []jobs.Trigger{jobs.ByPause, jobs.ByResume} {
			if _, err := d.Dispatch.Act(t.Context(), d.owner, "FB-1", dispatch.Action{Verb: by}); err != nil {
				t.Fatal(err)
			}
		}
	}
	doc := page(t, d.get("/jobs/FB-1"), http.StatusOK)
	wantText(t, doc, "#events .panel-h", "newest 50")
	older, _, _ := strings.Cut(doc.Find("#events a[href*='before=']").AttrOr("href", ""), "#")
	doc = page(t, d.get(older), http.StatusOK)
	wantText(t, doc, "#events .panel-h", "11 older")
	wantText(t, doc, "#events", "created")
	wantCount(t, doc, "#live", 0)
}

func TestUnknownJob(t *testing.T) {
	d := newDesk(t)
	doc := page(t, d.get("/jobs/FB-99"), http.StatusNotFound)
	wantText(t, doc, "main", "There is no job FB-99 in this workspace.")
	wantCount(t, doc, "nav a[href='/board']", 2)
	read(t, d.get("/jobs/FB-99/panel"), http.StatusNotFound)
}
