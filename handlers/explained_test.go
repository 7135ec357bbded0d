package handlers_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/e2e/handlertest"
	"github.com/fleetboard/fleetboard/internal/dispatch/actions"
	"github.com/fleetboard/fleetboard/internal/dispatch/lease"
	"github.com/fleetboard/fleetboard/internal/dispatch/report"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// Promise P12 for people: whatever keeps a job from running stands on its card and
// on its page.
func TestEveryJobThatDoesNotRunSaysWhyOnItsCardAndPage(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	agent := d.Agent("claude-1")
	five := 5
	for name, allows := range map[string]jobs.ProductSettings{
		"alone":   {Serialise: jobs.SerialiseRepo, Repos: []string{"ledger-api"}},
		"apart":   {Serialise: jobs.SerialisePaths, Repos: []string{"ledger-web"}},
		"crowded": {ReviewRequired: true, ReviewLimit: new(int)}, "still": {Paused: true},
	} {
		if allows.ReviewLimit != nil {
			*allows.ReviewLimit = 1
		}
		if _, _, err := d.Jobs.PutProduct(t.Context(), d.Owner, name, allows); err != nil {
			t.Fatal(err)
		}
	}
	act := func(j jobs.Job, by jobs.Trigger, reason string) {
		t.Helper()
		if _, err := d.Dispatch.Act(t.Context(), d.Owner, j.Key, actions.Action{Verb: by, Reason: reason}); err != nil {
			t.Fatalf("%s: %v", by, err)
		}
	}
	urgent := func(n *jobs.New) { p := 10; n.Priority = &p }
	reviewed := func(n *jobs.New) { yes := true; n.ReviewOverride = &yes; urgent(n) }
	leave := func(title string, end func(tenancy.Principal, lease.Ref) error, change ...func(*jobs.New)) jobs.Job {
		t.Helper()
		made := d.Job(title, append(change, urgent)...)
		held := d.Claim(agent)
		if held.Key != made.Key {
			t.Fatalf("claimed %s for %s", held.Title, title)
		}
		if err := end(agent, lease.Ref{Job: held.Key, Epoch: held.Epoch}); err != nil {
			t.Fatalf("%s: %v", title, err)
		}
		return d.Now(held)
	}
	complete := func(a tenancy.Principal, r lease.Ref) error {
		_, err := d.OtherProcess.Complete(t.Context(), a, r, report.Completion{Commit: "9be04d1f00"})
		return err
	}
	fail := func(retryable bool) func(tenancy.Principal, lease.Ref) error {
		return func(a tenancy.Principal, r lease.Ref) error {
			_, err := d.OtherProcess.Fail(t.Context(), a, r, report.Failure{Error: "lint fails", Retryable: retryable})
			return err
		}
	}
	ask := func(a tenancy.Principal, r lease.Ref) error {
		_, err := d.OtherProcess.Ask(t.Context(), a, r, report.Question{Text: "Which database?"})
		return err
	}
	says := map[string]string{} // by key
	says[leave("in review", complete, reviewed).Key] = "Commit 9be04d1 waits for a review"
	approved := leave("approved", complete, reviewed)
	act(approved, jobs.ByApprove, "")
	says[approved.Key] = "Approved by"
	asked := leave("asked", ask)
	says[asked.Key] = "claude-1 asks: Which database?"
	failed := leave("failed", fail(false))
	says[failed.Key] = "lint fails"
	says[leave("retried", fail(true)).Key] = "Retry 1 of 3 in"
	leave("fills the review", complete, func(n *jobs.New) { n.Product = "crowded" })
	backlog := d.Job("backlog", func(n *jobs.New) { n.Product = "crowded" })
	says[backlog.Key] = "Review queue of crowded is full"
	parked, paused, cancelled := d.Job("parked"), d.Job("paused"), d.Job("cancelled")
	act(parked, jobs.ByBlock, "no contract")
	act(paused, jobs.ByPause, "")
	act(cancelled, jobs.ByCancel, "not needed")
	says[parked.Key], says[paused.Key], says[cancelled.Key] = "no contract", "Paused by", "ancelled by Mara"
	holds := d.Job("holds the repo", func(n *jobs.New) { n.Repo = "ledger-api" })
	says[d.Job("repo", func(n *jobs.New) { n.Repo, n.Priority = "ledger-api", &five }).Key] = "Repo busy: " + holds.Key + " holds ledger-api"
	shares := d.Job("has paths", func(n *jobs.New) { n.Repo, n.Files = "ledger-web", []string{"db"} })
	says[d.Job("paths", func(n *jobs.New) { n.Repo, n.Files, n.Priority = "ledger-web", []string{"db/*.go"}, &five }).Key] = "Paths busy: " + shares.Key +
		" may touch db/.go too"
	says[d.Job("dependency", func(n *jobs.New) { n.DependsOn = []string{holds.Key} }).Key] = "Waits for " + holds.Key
	says[d.Job("hopeless", func(n *jobs.New) { n.DependsOn = []string{failed.Key} }).Key] = "Waits for " + failed.Key + ", which failed"
	says[d.Job("time", func(n *jobs.New) { at := time.Now().Add(time.Hour); n.NotBefore = &at }).Key] = "Not before"
	says[d.Job("still", func(n *jobs.New) { n.Product = "still" }).Key] = "Its product still is paused"
	says[d.Job("no factory", func(n *jobs.New) { n.Capabilities = []string{"engine:codex"} }).Key] = "No live factory offers engine:codex. Nearest miss: factory-of-claude-1"
	for _, title := range []string{"takes a seat", "takes the other seat"} {
		d.Job(title, urgent)
		d.Claim(agent)
	}
	says[d.Job("seats").Key] = "None of the 2 seats that can run it is free"
	budget := d.Job("budget", func(n *jobs.New) { at := time.Now().Add(time.Hour); n.NotBefore = &at })
	dbfactory.Exec(t, d.DB, `UPDATE job SET wait_reason = 'budget', not_before = NULL WHERE id = $1`, budget.ID)
	says[budget.Key] = "udget"

	board := handlertest.Page(t, d.Get("/board"), http.StatusOK)
	for key, want := range says {
		card := board.Find(`[data-card="` + key + `"]`)
		if got := words(card); card.Length() != 1 || !strings.Contains(got, want) {
			t.Errorf("the card of %s says %q; want %q", key, got, want)
		}
		if key == asked.Key {
			want = "waits for an answer" // the question stands beside it, with the field for the answer
		}
		if got := words(handlertest.Page(t, d.Get("/jobs/"+key), http.StatusOK).Find("#why")); !strings.Contains(got, want) {
			t.Errorf("the page of %s says %q; want %q", key, got, want)
		}
	}
	handlertest.WantText(t, board, "main", "2 jobs cannot run") // no factory has ledger-web
}

func words(s *goquery.Selection) string { return strings.Join(strings.Fields(s.Text()), " ") }
