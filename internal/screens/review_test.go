package screens_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/internal/dispatch/actions"
	"github.com/fleetboard/fleetboard/internal/dispatch/claim"
	"github.com/fleetboard/fleetboard/internal/dispatch/lease"
	"github.com/fleetboard/fleetboard/internal/dispatch/report"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/screens"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// handIn lets the agent claim the only ready job and hand it in for review.
func (w *testWorkspace) handIn(agent tenancy.Principal, title string, c report.Completion) jobs.Job {
	w.t.Helper()
	needed := true
	job := w.job(jobs.New{Spec: jobs.Spec{Title: title, ReviewOverride: &needed}})
	if _, err := w.dispatch.Claim(w.t.Context(), agent, claim.Request{}); err != nil {
		w.t.Fatal(err)
	}
	done, err := w.dispatch.Complete(w.t.Context(), agent, lease.Ref{Job: job.Key, Epoch: 1}, c)
	if err != nil {
		w.t.Fatal(err)
	}
	return done.Job
}

func (w *testWorkspace) reviews(after string) screens.ReviewQueue {
	w.t.Helper()
	page, err := w.ReviewQueue(w.t.Context(), w.who, after)
	if err != nil {
		w.t.Fatal(err)
	}
	return page
}

func keysOf(list []screens.Handed) string {
	var keys []string
	for _, h := range list {
		keys = append(keys, h.Key)
	}
	return strings.Join(keys, " ")
}

// What was handed in first is decided first, whatever its priority; approved
// jobs wait beside the queue until they are merged.
func TestTheReviewQueueIsOldestFirst(t *testing.T) {
	w := setup(t)
	agent := w.agent()
	w.handIn(agent, "second", report.Completion{Result: json.RawMessage(`{"files_changed":3}`)})
	w.handIn(agent, "first", report.Completion{})
	w.handIn(agent, "accepted", report.Completion{})
	dbfactory.Exec(t, w.db, `UPDATE job SET status_at = now() - interval '1 hour', priority = 0 WHERE title = 'first'`)
	if _, err := w.dispatch.Act(t.Context(), w.who, "FB-3", actions.Action{Verb: jobs.ByApprove}); err != nil {
		t.Fatal(err)
	}
	page := w.reviews("")
	if got := keysOf(page.InReview) + " | " + keysOf(page.Approved); got != "FB-2 FB-1 | FB-3" {
		t.Errorf("the queue is %s", got)
	}
	if n := page.Count; n.Jobs != 2 || n.Capped {
		t.Errorf("counted %+v, want 2", n)
	}
	if h := page.InReview[1]; h.Agent != "claude-1" || string(h.Result) != `{"files_changed": 3}` || h.Product != jobs.DefaultProduct {
		t.Errorf("the queue says of FB-1 %+v", h)
	}
}

// A large result is for the job's own page: a list of fifty would carry megabytes.
func TestTheReviewQueueLeavesLargeResultsOut(t *testing.T) {
	w := setup(t)
	w.handIn(w.agent(), "large", report.Completion{})
	dbfactory.Exec(t, w.db, `UPDATE job SET result = jsonb_build_object('log', (SELECT string_agg(gen_random_uuid()::text, '') FROM generate_series(1, 5000)))`)
	if h := w.reviews("").InReview[0]; h.Result != nil {
		t.Errorf("a result of %d bytes is listed", len(h.Result))
	}
}

// Pages follow one another without loss or repetition, also where many jobs
// were handed in at one moment; the count ends where nobody reads it any more.
func TestTheReviewQueueIsPaged(t *testing.T) {
	w := setup(t)
	for i := range 120 {
		w.job(jobs.New{Spec: jobs.Spec{Title: fmt.Sprint(i)}})
	}
	dbfactory.Exec(t, w.db, `DELETE FROM job_ready`)
	dbfactory.Exec(t, w.db, `UPDATE job SET status = 'in_review', status_at = date_trunc('hour', now())`)
	seen := map[string]bool{}
	after, pages := "", 0
	for {
		page := w.reviews(after)
		pages++
		for _, h := range page.InReview {
			if seen[h.Key] {
				t.Errorf("%s is on two pages", h.Key)
			}
			seen[h.Key] = true
		}
		if n := page.Count; n.Jobs != 99 || !n.Capped {
			t.Errorf("counted %+v, want 99 and more", n)
		}
		if after = page.Next; after == "" {
			break
		}
		if pages == 10 {
			t.Fatal("the pages do not end")
		}
	}
	if len(seen) != 120 || pages != 3 {
		t.Errorf("%d jobs on %d pages, want 120 on 3", len(seen), pages)
	}
	if _, err := w.ReviewQueue(t.Context(), w.who, "nonsense"); !fault.Is(err, fault.Malformed) {
		t.Errorf("a made-up place gives %v", err)
	}
}

// Another workspace's reviews are not seen and not counted.
func TestReviewsStayInTheirWorkspace(t *testing.T) {
	w := setup(t)
	w.handIn(w.agent(), "ours", report.Completion{})
	stranger := dbfactory.Person(dbfactory.Workspace(t, w.db), tenancy.RoleOwner)
	page, err := w.ReviewQueue(t.Context(), stranger, "")
	if err != nil || len(page.InReview) != 0 || page.Count.Jobs != 0 {
		t.Errorf("a stranger sees %+v, %v", page, err)
	}
	if page, err := w.ReviewQueue(t.Context(), w.who, ""); err != nil || page.Count.Jobs != 1 {
		t.Errorf("counted %+v, %v", page.Count, err)
	}
}
