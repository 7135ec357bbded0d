package api_test

import (
	"log/slog"
	"testing"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/internal/dispatch/merging"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/fleet"
)

// An agent that merges by a pull request says which one it follows, and the work names it.
func TestAPullRequestIsFollowed(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	ada := w.agent("ada", object{"factory": object{"name": "desk", "repos": []object{{"name": "atlas"}}, "capabilities": []string{fleet.OpensPullRequests}, "seats": 9}})
	w.as(w.owner, "PUT", "/products/books", object{"repos": []string{"atlas"}, "merge_by": "pull_request"}).want(201)
	key := w.job("Work", object{"repo": "atlas", "review_required": true})
	w.as(ada, "POST", "/fleet/complete", merge(w.claim(ada), object{"commit": "9be04d1a", "branch": "fleet/x"})).want(200)
	w.as(w.owner, "POST", "/jobs/"+key+"/approve", object{"head": "9be04d1"}).want(200)
	merges := merging.New(w.db, w.jobs, w.dispatch, "https://fleet.example", slog.New(slog.DiscardHandler))
	if n, err := merges.MergeApproved(t.Context()); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	held := w.claim(ada)
	pull := object{"url": "https://git.example/team/atlas/pulls/4", "number": 4, "branch": "fleet/x"}
	if got := w.as(ada, "POST", "/fleet/follow", merge(held, pull)).want(200).text("directive"); got != "continue" {
		t.Errorf("it is told to %s", got)
	}
	if got := w.as(w.owner, "GET", "/jobs/"+key, nil).want(200).text("url"); got != pull["url"] {
		t.Errorf("the work names %q", got)
	}
	w.as(ada, "POST", "/fleet/follow", merge(held, merge(pull, object{"url": "ftp://git.example"}))).want(422).refused(fault.Validation, "url")
}

// A worker learns which jobs ended so long ago that their branches may go.
func TestBranchesOfEndedJobsAreListed(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	ada := w.agent("ada")
	w.as(w.owner, "PUT", "/products/books", object{"repos": []string{"atlas"}, "branch_retention_days": 3}).want(201)
	key := w.job("Work", object{"repo": "atlas"})
	w.as(ada, "POST", "/fleet/complete", merge(w.claim(ada), object{"commit": "9be04d1a", "branch": "fleet/x"})).want(200)
	asked := object{"repo": "atlas", "jobs": []string{key, "FB-99"}}
	if n := w.as(ada, "POST", "/branches/ended", asked).want(200).count("items"); n != 0 {
		t.Errorf("%d branches of a job that has just ended", n)
	}
	dbfactory.Exec(t, w.db, `UPDATE job SET completed_at = now() - interval '4 days'`)
	list := w.as(ada, "POST", "/branches/ended", asked).want(200)
	if list.count("items") != 1 || list.text("items", 0, "job") != key || list.text("items", 0, "commit") != "9be04d1a" {
		t.Errorf("it says %s", list.raw)
	}
	if n := w.as(w.otherWorkspace(), "POST", "/branches/ended", asked).want(200).count("items"); n != 0 {
		t.Errorf("another workspace sees %d of them", n)
	}
}
