package job_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"

	"github.com/fleetboard/fleetboard/db/dbtest"
	"github.com/fleetboard/fleetboard/e2e/handlertest"
	"github.com/fleetboard/fleetboard/internal/bus"
	"github.com/fleetboard/fleetboard/internal/dispatch/actions"
	"github.com/fleetboard/fleetboard/internal/dispatch/lease"
	"github.com/fleetboard/fleetboard/internal/dispatch/merging"
	"github.com/fleetboard/fleetboard/internal/dispatch/report"
	"github.com/fleetboard/fleetboard/internal/fleet"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

func TestJobPageOfARunningJob(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	before := d.Job("First things")
	d.Job("Alpha", func(n *jobs.New) {
		n.Body, n.Acceptance, n.Repo = "Make it **so**.", []string{"It is so"}, "ledger-api"
		p := 9
		n.Priority = &p
	})
	d.Job("After it", func(n *jobs.New) { n.DependsOn = []string{"FB-2"} })
	agent := d.Agent("claude-1")
	j := d.Claim(agent)
	done, step := 62, "Reaper tests"
	_, err := d.OtherProcess.Progress(t.Context(), agent, lease.Ref{Job: j.Key, Epoch: j.Epoch},
		report.Progress{Percent: &done, Step: &step, Checkpoint: json.RawMessage(`{"step":3}`)})
	if err != nil {
		t.Fatal(err)
	}
	doc := handlertest.Page(t, d.Get("/jobs/FB-2"), http.StatusOK)
	handlertest.WantText(t, doc, "h1", "Alpha")
	handlertest.WantText(t, doc, ".strip", "claude-1 on factory-of-claude-1")
	handlertest.WantText(t, doc, ".strip", "62% Reaper tests")
	handlertest.WantText(t, doc, "#description strong", "so")
	handlertest.WantText(t, doc, ".acc", "It is so")
	handlertest.WantText(t, doc, "#attempt-1", "claude-1")
	handlertest.WantText(t, doc, "#events", "claimed Ready Assigned")
	handlertest.WantText(t, doc, "#events", "62%")
	handlertest.WantText(t, doc, "#checkpoint", `"step": 3`)
	handlertest.WantText(t, doc, "#links-words tbody", "FB-3waits for FB-2")
	handlertest.WantText(t, doc, ".jobside", "factory-of-claude-1 of 1")
	handlertest.WantCount(t, doc, "#why", 0)
	handlertest.WantCount(t, doc, "#bar-pause", 1)
	handlertest.WantCount(t, doc, "#dlg-cancel input[name=reason]", 1)
	handlertest.WantCount(t, doc, "#live", 1)

	panel := handlertest.Page(t, d.Get("/jobs/FB-2/panel"), http.StatusOK)
	handlertest.WantCount(t, panel, `hx-partial[hx-target="#job-panel"] #job-panel`, 1)
	handlertest.WantText(t, handlertest.Page(t, d.Get("/jobs/"+before.ID.String()), http.StatusOK), "h1", "First things")
}

func TestJobPageOfWorkHandedIn(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	d.Job("Alpha", func(n *jobs.New) { yes := true; n.ReviewOverride = &yes })
	agent := d.Agent("claude-1")
	j := d.Claim(agent)
	_, err := d.OtherProcess.Complete(t.Context(), agent, lease.Ref{Job: j.Key, Epoch: j.Epoch}, report.Completion{
		Summary: "One **guarded** update", Commit: "9be04d1f00", Branch: "fleet/FB-1"})
	if err != nil {
		t.Fatal(err)
	}
	// An address that is no link never comes this far; a damaged row may have it.
	if _, err := dbtest.Owner(t, d.DB).Exec(t.Context(),
		`UPDATE job SET result = jsonb_set(result, '{url}', '"javascript:alert(1)"') WHERE title = 'Alpha'`); err != nil {
		t.Fatal(err)
	}
	doc := handlertest.Page(t, d.Get("/jobs/FB-1"), http.StatusOK)
	handlertest.WantText(t, doc, "#result-commit", "9be04d1f00")
	handlertest.WantText(t, doc, "#result strong", "guarded")
	handlertest.WantCount(t, doc, "#result a[href^=javascript]", 0)
	handlertest.WantText(t, doc, "#why", "Commit 9be04d1 waits for a review")
	handlertest.WantCount(t, doc, "#bar-approve", 1)
	handlertest.WantCount(t, doc, "#dlg-reject textarea[required]", 1)
}

func TestJobPageOfMergedWork(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	d.Job("Alpha", func(n *jobs.New) { n.ReviewOverride, n.Files = new(true), []string{"internal/**"} })
	agent := d.Agent("claude-1")
	j := d.Claim(agent)
	_, err := d.OtherProcess.Complete(t.Context(), agent, lease.Ref{Job: j.Key, Epoch: j.Epoch}, report.Completion{
		Commit: "9be04d1f00", URL: "https://git.example/pr/1", FilesTouched: []string{"internal/a.go", "internal/b.go"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range []actions.Action{{Verb: jobs.ByApprove}, {Verb: jobs.ByMerge, Commit: "77aa"}} {
		if _, err := d.Dispatch.Act(t.Context(), d.Owner, j.Key, a); err != nil {
			t.Fatal(err)
		}
	}
	doc := handlertest.Page(t, d.Get("/jobs/FB-1"), http.StatusOK)
	handlertest.WantText(t, doc, "#approved-head", "9be04d1f00")
	handlertest.WantText(t, doc, "#merged-commit", "77aa")
	handlertest.WantText(t, doc, "#result", "2 files")
	handlertest.WantText(t, doc, "#result a[href='https://git.example/pr/1']", "https://git.example/pr/1")
	handlertest.WantText(t, doc, ".jobside", "internal/**")
}

func TestJobPageSaysWhoCouldRunIt(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	d.Agent("claude-1")
	d.Job("Alpha", func(n *jobs.New) { n.Capabilities = []string{"engine:codex", "gpu:a100"} })
	doc := handlertest.Page(t, d.Get("/jobs/FB-1"), http.StatusOK)
	handlertest.WantText(t, doc, "#why", "No live factory can run FB-1")
	handlertest.WantText(t, doc, "#why table", "factory-of-claude-1lacks engine:codexgpu:a100nearest miss")
}

func TestJobPageOfOlderEvents(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	d.Job("Alpha")
	for range 30 {
		for _, by := range []jobs.Trigger{jobs.ByPause, jobs.ByResume} {
			if _, err := d.Dispatch.Act(t.Context(), d.Owner, "FB-1", actions.Action{Verb: by}); err != nil {
				t.Fatal(err)
			}
		}
	}
	doc := handlertest.Page(t, d.Get("/jobs/FB-1"), http.StatusOK)
	handlertest.WantText(t, doc, "#events .panel-h", "newest 50")
	handlertest.WantCount(t, doc, "#events ol[tabindex='0'][aria-label]", 1) // it scrolls, also by keyboard
	older, _, _ := strings.Cut(doc.Find("#events a[href*='before=']").AttrOr("href", ""), "#")
	doc = handlertest.Page(t, d.Get(older), http.StatusOK)
	handlertest.WantText(t, doc, "#events .panel-h", "11 older")
	handlertest.WantText(t, doc, "#events", "created")
	handlertest.WantCount(t, doc, "#live", 0)
}

// The links in texts are of the form that new jobs' keys have.
func TestJobPageLeadsToTheJobsItNames(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	first := d.Job("Alpha")
	d.Job("Beta", func(n *jobs.New) { n.Body = "- [x] after " + first.Key })
	doc := handlertest.Page(t, d.Get("/jobs/FB-2"), http.StatusOK)
	handlertest.WantCount(t, doc, "#description input:checked:disabled", 1)
	to := doc.Find("#description a").AttrOr("href", "")
	handlertest.WantText(t, handlertest.Page(t, d.Get(to), http.StatusOK), "h1", "Alpha")
}

func TestUnknownJob(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	doc := handlertest.Page(t, d.Get("/jobs/FB-99"), http.StatusNotFound)
	handlertest.WantText(t, doc, "main", "There is no job FB-99 in this workspace.")
	handlertest.WantCount(t, doc, "nav a[href='/board']", 2)
	handlertest.Read(t, d.Get("/jobs/FB-99/panel"), http.StatusNotFound)
}

// approvedForMerge returns a workspace with FB-1 approved, whose product merges by pull request, and an
// agent that can merge.
func approvedForMerge(t *testing.T) (*handlertest.Workspace, tenancy.Principal) {
	t.Helper()
	d := handlertest.NewWorkspace(t)
	_, _, err := d.Jobs.PutProduct(t.Context(), d.Owner, "books", jobs.ProductSettings{Repos: []string{"ledger-api"},
		Merge: jobs.Merge{By: jobs.MergeByPullRequest}})
	if err != nil {
		t.Fatal(err)
	}
	d.Job("Alpha", func(n *jobs.New) { n.ReviewOverride, n.Repo = new(true), "ledger-api" })
	agent := d.Agent("claude-1", func(r *fleet.Registration) { r.Factory.Capabilities = []string{merging.Capability} })
	j := d.Claim(agent)
	if _, err := d.OtherProcess.Complete(t.Context(), agent, lease.Ref{Job: j.Key, Epoch: j.Epoch}, report.Completion{Commit: "9be04d1f00"}); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Dispatch.Act(t.Context(), d.Owner, j.Key, actions.Action{Verb: jobs.ByApprove}); err != nil {
		t.Fatal(err)
	}
	return d, agent
}

// Approved work leads to the job that merges it, to its pull request once that is known, and
// keeps both when it is merged.
func TestJobPageLeadsToItsMerge(t *testing.T) {
	d, agent := approvedForMerge(t)
	merges := merging.New(d.DB, d.Jobs, d.Dispatch, "", slog.New(slog.DiscardHandler))
	cycle := func() {
		if _, err := merges.MergeApproved(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	page := func() *goquery.Document { return handlertest.Page(t, d.Get("/jobs/FB-1"), http.StatusOK) }
	handlertest.WantCount(t, page(), "#merge-job", 0)

	cycle()
	doc := page()
	handlertest.WantText(t, doc, "#why", "FB-2 merges it")
	handlertest.WantText(t, doc, "#merge-job", "FB-2 merges it")
	handlertest.WantCount(t, doc, "#merge-job a[href='/jobs/FB-2']", 1)
	handlertest.WantCount(t, doc, "#merge-job a[rel]", 0)

	const address = "https://git.example/team/ledger-api/pulls/4"
	m := d.Claim(agent)
	ref := lease.Ref{Job: m.Key, Epoch: m.Epoch}
	said := report.Progress{Checkpoint: []byte(`{"url": "` + address + `"}`)}
	if _, err := d.OtherProcess.Progress(t.Context(), agent, ref, said); err != nil {
		t.Fatal(err)
	}
	handlertest.WantCount(t, page(), "#merge-job a[href='"+address+"']", 1)

	result := []byte(`{"merged_commit": "77aa", "url": "` + address + `"}`)
	if _, err := d.OtherProcess.Complete(t.Context(), agent, ref, report.Completion{Result: result}); err != nil {
		t.Fatal(err)
	}
	cycle()
	doc = page()
	handlertest.WantText(t, doc, "#merged-commit", "77aa")
	handlertest.WantText(t, doc, "#result", "Merged byFB-2")
	handlertest.WantCount(t, doc, "#merge-job a[href='"+address+"']", 1)
	handlertest.WantCount(t, doc, "#why", 0)
}

// The page of a job that is open is shown again when the job that merges it goes on, and
// when it is merged.
func TestJobPageFollowsItsMerge(t *testing.T) {
	d, agent := approvedForMerge(t)
	merges := merging.New(d.DB, d.Jobs, d.Dispatch, "", slog.New(slog.DiscardHandler))
	cycle := func() {
		if _, err := merges.MergeApproved(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	cycle()
	live := d.Stream(t, d.Listen(t)+d.LiveURL("/jobs/FB-1"), "")
	m := d.Claim(agent)
	ref := lease.Ref{Job: m.Key, Epoch: m.Epoch}
	const address = "https://git.example/team/ledger-api/pulls/4"
	said := report.Progress{Checkpoint: []byte(`{"url": "` + address + `"}`)}
	if _, err := d.OtherProcess.Progress(t.Context(), agent, ref, said); err != nil {
		t.Fatal(err)
	}
	doc := handlertest.Parse(t, live.Until(address).Data) // only FB-2 has changed
	handlertest.WantText(t, doc, "#merge-job", "FB-2 merges it")

	if _, err := d.OtherProcess.Complete(t.Context(), agent, ref, report.Completion{Result: []byte(`{"merged_commit": "77aa"}`)}); err != nil {
		t.Fatal(err)
	}
	cycle()
	doc = handlertest.Parse(t, live.Until("Merged by").Data)
	handlertest.WantText(t, doc, "#merge-job", "FB-2")
	handlertest.WantText(t, doc, "#merged-commit", "77aa")
}

// A job's page shows the end of its thread and leads to the whole of it.
func TestJobPageShowsTheEndOfItsThread(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	job := d.Job("Alpha")
	ada := d.Agent("ada")
	doc := handlertest.Page(t, d.Get("/jobs/FB-1"), http.StatusOK)
	handlertest.WantCount(t, doc, "#messages a[href='/messages?job=FB-1&new=1']", 1)
	handlertest.WantCount(t, handlertest.Page(t, d.Get("/messages?job=FB-1&new=1"), http.StatusOK), "#new-message #job[value='FB-1']", 1)
	var list []bus.Draft
	for n := range 25 {
		list = append(list, bus.Draft{Type: "custom.note", To: bus.Address{Kind: bus.ToAgent, Name: "ada"}, Job: job.Key,
			Payload: []byte(fmt.Sprintf(`{"text": "note %d."}`, n))})
	}
	if _, err := d.Bus.Publish(t.Context(), ada, list...); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/jobs/FB-1", "/jobs/FB-1/panel"} {
		html := handlertest.Read(t, d.Get(path), http.StatusOK)
		if strings.Contains(html, "note 4.") || strings.Count(html, "note ") < 20 || !strings.Contains(html, `href="/messages?thread=FB-1"`) {
			t.Errorf("%s does not show the newest 20", path)
		}
	}
}

// A large result and a checkpoint that is a blob are downloads, with their size.
func TestBlobsOfAJobAreDownloads(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	agent := d.Agent("ada")
	d.Job("Count the rows")
	j := d.Claim(agent)
	stored, _, err := d.Blobs.Put(t.Context(), agent, strings.NewReader(strings.Repeat("1,2\n", 1<<10)))
	if err != nil {
		t.Fatal(err)
	}
	checkpoint, err := report.BlobCheckpoint(stored.Sum.String())
	if err != nil {
		t.Fatal(err)
	}
	ref := lease.Ref{Job: j.Key, Epoch: j.Epoch}
	if _, err := d.Dispatch.Progress(t.Context(), agent, ref, report.Progress{Checkpoint: checkpoint}); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Dispatch.Complete(t.Context(), agent, ref, report.Completion{ResultBlob: stored.Sum.String()}); err != nil {
		t.Fatal(err)
	}
	doc := handlertest.Page(t, d.Get("/jobs/"+j.Key), http.StatusOK)
	for _, place := range []string{"#result-blob", "#checkpoint"} {
		handlertest.WantText(t, doc, place, "Download 4 KB")
		handlertest.WantCount(t, doc, place+` a[href="/blobs/`+stored.Sum.String()+`"]`, 1)
	}
}
