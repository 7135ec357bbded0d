package dispatch_test

import (
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/fleetboard/fleetboard/internal/dispatch/claim"
	"github.com/fleetboard/fleetboard/internal/dispatch/lease"
	"github.com/fleetboard/fleetboard/internal/dispatch/merging"
	"github.com/fleetboard/fleetboard/internal/dispatch/report"
	"github.com/fleetboard/fleetboard/internal/fleet"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// hasAtlas is an agent of a factory that has the repo of the work.
func hasAtlas(r *fleet.Registration) { r.Factory.Repos = []fleet.Repo{{Name: "atlas"}} }

// byFactories is a product whose approved work factories merge.
func (w *testWorkspace) byFactories() {
	w.T.Helper()
	w.Product(jobs.DefaultProduct, jobs.ProductSettings{Merge: jobs.Merge{By: jobs.MergeByWorker, Into: "trunk", Checks: "make test"}})
}

// merging returns what the coordinator has merge.
func (w *testWorkspace) merging() *merging.Service {
	return merging.New(w.DB, w.Jobs, w.Dispatch, "https://fleet.example/", slog.New(slog.DiscardHandler))
}

// mergeCycle is one cycle of it, which must do so much.
func (w *testWorkspace) mergeCycle(want int) {
	w.T.Helper()
	if n, err := w.merging().MergeApproved(w.Ctx); n != want || err != nil {
		w.T.Fatalf("a cycle did %d, want %d: %v", n, want, err)
	}
}

// order claims a merge job, and returns it with what it orders.
func (w *testWorkspace) order(agent tenancy.Principal) (jobs.Job, lease.MergeOrder) {
	w.T.Helper()
	got, err := w.Dispatch.Claim(w.Ctx, agent, claim.Request{})
	if err != nil || len(got.Jobs) != 1 || got.Orders[got.Jobs[0].ID].Merge == nil {
		w.T.Fatalf("the claim gave %d jobs (%s) with the orders %v: %v", len(got.Jobs), got.Reason, got.Orders, err)
	}
	return got.Jobs[0], *got.Orders[got.Jobs[0].ID].Merge
}

// approved returns a job with approved work in a repo.
func (w *testWorkspace) approved() jobs.Job {
	w.T.Helper()
	w.Job("work", reviewed, inRepo("atlas"))
	agent := w.Agent("author", hasAtlas)
	done, err := w.Dispatch.Complete(w.Ctx, agent, ref(w.Claim(agent)), report.Completion{Commit: "abc", Branch: "fleet/FB-1-e1"})
	if err != nil {
		w.T.Fatal(err)
	}
	return w.Act(done.Job, jobs.ByApprove)
}

// Approved work gets one merge job, and is what becomes of it.
func TestApprovedWorkIsMergedByAFactory(t *testing.T) {
	w := newTestWorkspace(t)
	w.byFactories()
	j := w.approved()
	w.mergeCycle(1)
	w.mergeCycle(0)
	smith := w.Agent("smith", hasAtlas)
	m, order := w.order(smith)
	if m.Kind != jobs.KindMerge || m.Title != "Merge FB-1: work" || m.ReviewRequired || string(m.InputContext) != "{}" {
		t.Errorf("the merge job is %+v", m)
	}
	want := lease.MergeOrder{Job: "FB-1", Title: "work", URL: "https://fleet.example/jobs/FB-1", By: jobs.MergeByWorker, Commit: "abc",
		Branch: "fleet/FB-1-e1", Into: "trunk", Method: jobs.MergeCommit, Checks: "make test"}
	if order != want {
		t.Errorf("the order is %+v", order)
	}
	if _, err := w.Dispatch.Complete(w.Ctx, smith, ref(m), report.Completion{Result: []byte(`{"merged_commit": "def"}`)}); err != nil {
		t.Fatal(err)
	}
	w.mergeCycle(1)
	if merged := w.Want(j, jobs.Completed); merged.MergedCommit != "def" {
		t.Errorf("it was merged as %q", merged.MergedCommit)
	}
	w.mergeCycle(0)
	w.Consistent()
}

// Where pull requests merge, the merge job requires a factory that can open one, passes on
// what the pull request says, and leaves the address with the work.
func TestApprovedWorkIsMergedByAPullRequest(t *testing.T) {
	w := newTestWorkspace(t)
	w.Product(jobs.DefaultProduct, jobs.ProductSettings{Merge: jobs.Merge{By: jobs.MergeByPullRequest}})
	j := w.approved()
	w.mergeCycle(1)
	w.Nothing(w.Agent("smith", hasAtlas), claim.ReasonEmpty)
	forger := w.Agent("forger", hasAtlas, func(r *fleet.Registration) { r.Factory.Capabilities = []string{merging.Capability} })
	m, order := w.order(forger)
	if order.By != jobs.MergeByPullRequest || order.Title != "work" || order.URL != "https://fleet.example/jobs/FB-1" {
		t.Errorf("the order is %+v", order)
	}
	said := report.Completion{Result: []byte(`{"merged_commit": "def", "url": "https://git.example/team/atlas/pulls/4"}`)}
	if _, err := w.Dispatch.Complete(w.Ctx, forger, ref(m), said); err != nil {
		t.Fatal(err)
	}
	w.mergeCycle(1)
	if merged := w.Want(j, jobs.Completed); merged.MergedCommit != "def" || merged.URL != "https://git.example/team/atlas/pulls/4" {
		t.Errorf("it was merged as %q by %q", merged.MergedCommit, merged.URL)
	}
	w.Consistent()
}

// What a factory says is the pull request's address, and is none, keeps nothing from being
// merged.
func TestAMergeWithoutAGoodAddressIsOne(t *testing.T) {
	w := newTestWorkspace(t)
	w.byFactories()
	j := w.approved()
	w.mergeCycle(1)
	smith := w.Agent("smith", hasAtlas)
	said := report.Completion{Result: []byte(`{"merged_commit": "def", "url": "javascript:alert(1)"}`)}
	if _, err := w.Dispatch.Complete(w.Ctx, smith, ref(w.Claim(smith)), said); err != nil {
		t.Fatal(err)
	}
	w.mergeCycle(1)
	if merged := w.Want(j, jobs.Completed); merged.URL != "" {
		t.Errorf("its address is %q", merged.URL)
	}
}

// A conflict sends the work back to review with the reason; approved again it gets another
// merge job.
func TestWorkThatCannotBeMergedGoesBackToReview(t *testing.T) {
	w := newTestWorkspace(t)
	w.byFactories()
	j := w.approved()
	w.mergeCycle(1)
	smith := w.Agent("smith", hasAtlas)
	_, err := w.Dispatch.Fail(w.Ctx, smith, ref(w.Claim(smith)), report.Failure{Kind: string(jobs.FailedMergeConflict), Error: "It conflicts in login.go."})
	if err != nil {
		t.Fatal(err)
	}
	w.mergeCycle(1)
	if back := w.Want(j, jobs.InReview); !strings.Contains(back.LastError, "login.go") {
		t.Errorf("the reason is %q", back.LastError)
	}
	w.mergeCycle(0)
	w.Act(w.Get(j), jobs.ByApprove)
	w.mergeCycle(1)
	if again := w.Claim(smith); again.Key != "FB-3" {
		t.Errorf("it is merged by %s", again.Key)
	}
}

// Work that is not approved any more is not merged: its merge job is cancelled.
func TestAnApprovalThatIsTakenBackEndsTheMerge(t *testing.T) {
	w := newTestWorkspace(t)
	w.byFactories()
	j := w.approved()
	w.mergeCycle(1)
	w.Act(j, jobs.ByCancel)
	w.mergeCycle(1)
	m, err := w.Jobs.Get(w.Ctx, w.Owner, "FB-2")
	if err != nil || m.Status != jobs.Aborted {
		t.Fatalf("the merge job is %s, %v", m.Status, err)
	}
	w.mergeCycle(1) // it is closed
	w.mergeCycle(0)
	w.Consistent()
}

// Who cancels a merge job has the work in review again.
func TestACancelledMergeGoesBackToReview(t *testing.T) {
	w := newTestWorkspace(t)
	w.byFactories()
	j := w.approved()
	w.mergeCycle(1)
	m, err := w.Jobs.Get(w.Ctx, w.Owner, "FB-2")
	if err != nil {
		t.Fatal(err)
	}
	w.Act(m, jobs.ByCancel)
	w.mergeCycle(1)
	w.Want(j, jobs.InReview)
}

// Two processes at once make one merge job.
func TestTwoCoordinatorsMakeOneMerge(t *testing.T) {
	w := newTestWorkspace(t)
	w.byFactories()
	w.approved()
	var both sync.WaitGroup
	for range 4 {
		both.Go(func() {
			if _, err := w.merging().MergeApproved(w.Ctx); err != nil {
				t.Error(err)
			}
		})
	}
	both.Wait()
	w.mergeCycle(0)
	list, _, err := w.Jobs.List(w.Ctx, w.Owner, jobs.Filter{})
	if err != nil || len(list) != 2 {
		t.Errorf("there are %d jobs, %v", len(list), err)
	}
}

// What people merge is theirs.
func TestPeopleMergeWhereTheProductSaysSo(t *testing.T) {
	w := newTestWorkspace(t)
	j := w.approved()
	w.mergeCycle(0)
	w.Want(j, jobs.Approved)
}
