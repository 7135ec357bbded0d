package dispatch_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/db/dbtest"
	"github.com/fleetboard/fleetboard/internal/dispatch/claim"
	"github.com/fleetboard/fleetboard/internal/dispatch/lease"
	"github.com/fleetboard/fleetboard/internal/dispatch/report"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/fleet"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// pull returns a pull request.
func pull(n int) report.PullRequest {
	return report.PullRequest{URL: fmt.Sprintf("https://git.example/team/atlas/pulls/%d", n), Number: n, Branch: "fleet/FB-1-e1"}
}

// forger returns an agent with one seat that can open pull requests.
func (w *testWorkspace) forger(name string) tenancy.Principal {
	w.T.Helper()
	return w.Agent(name, hasAtlas, func(r *fleet.Registration) {
		r.MaxConcurrentJobs, r.Factory.Seats, r.Factory.Capabilities = 1, 1, []string{fleet.OpensPullRequests}
	})
}

// approvedByPull is approved work that waits for a pull request.
func (w *testWorkspace) approvedByPull() jobs.Job {
	w.T.Helper()
	w.Product(jobs.DefaultProduct, jobs.ProductSettings{Serialise: jobs.SerialiseRepo, Merge: jobs.Merge{By: jobs.MergeByPullRequest}})
	j := w.approved()
	w.mergeCycle(1)
	return j
}

// What follows a pull request takes neither a seat nor the place of its repo, and the work
// names the pull request.
func TestALeaseThatFollowsTakesNoSeat(t *testing.T) {
	w := newTestWorkspace(t)
	work := w.approvedByPull()
	forger := w.forger("forger")
	m, _ := w.order(forger)
	next := w.Job("next", inRepo("atlas"))
	w.Job("elsewhere")
	w.Want(next, jobs.Waiting)
	w.Nothing(forger, claim.ReasonNoSeats)
	for range 2 { // said again it changes nothing
		if _, err := w.Dispatch.Follow(w.Ctx, forger, ref(m), pull(4)); err != nil {
			t.Fatal(err)
		}
	}
	if now := w.Want(work, jobs.Approved); now.URL != pull(4).URL {
		t.Errorf("the work names %q", now.URL)
	}
	w.Want(next, jobs.Ready)
	w.Claim(forger)
	w.Nothing(forger, claim.ReasonNoSeats) // the follower has not become a seat more
	w.Consistent()
}

// A product that begins to allow one job in a repo gives the slot to the jobs that are worked
// on. A job that becomes a follower at the same moment waits for that, and gives the slot up.
func TestAFollowerKeepsNoSlotThatItIsGivenMeanwhile(t *testing.T) {
	w := newTestWorkspace(t)
	w.approvedByPull()
	forger := w.forger("forger")
	m, _ := w.order(forger)
	dbfactory.Exec(t, w.DB, `DELETE FROM repo_slot`) // as where the product allowed many jobs until now
	tx, err := dbtest.Owner(t, w.DB).Begin(w.Ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(w.Ctx, `WITH worked AS (SELECT job_id FROM job_lease WHERE NOT follows FOR KEY SHARE)
		INSERT INTO repo_slot (workspace_id, repo, job_id) SELECT $1, 'atlas', job_id FROM worked`, w.Workspace); err != nil {
		t.Fatal(err)
	}
	followed := make(chan error)
	go func() {
		_, err := w.Dispatch.Follow(w.Ctx, forger, ref(m), pull(4))
		followed <- err
	}()
	w.Blocked(1)
	if err := tx.Commit(w.Ctx); err != nil {
		t.Fatal(err)
	}
	if err := <-followed; err != nil {
		t.Fatal(err)
	}
	if slots := dbfactory.Int(t, w.DB, `SELECT count(*) FROM repo_slot`); slots != 0 {
		t.Errorf("the follower keeps %d slots", slots)
	}
}

// Only whoever holds a merge by pull request follows it, and the next merge of the work knows
// its pull request.
func TestWhoMayFollow(t *testing.T) {
	w := newTestWorkspace(t)
	work := w.approvedByPull()
	forger, other := w.forger("forger"), w.forger("other")
	m, order := w.order(forger)
	if order.Opened != nil {
		t.Errorf("it goes on with %+v", order.Opened)
	}
	plain := w.Job("plain")
	held := w.Claim(other)
	for name, c := range map[string]struct {
		who  tenancy.Principal
		ref  lease.Ref
		pull report.PullRequest
		want fault.Code
	}{
		"another agent":    {other, ref(m), pull(1), fault.StaleEpoch},
		"another epoch":    {forger, lease.Ref{Job: m.Key, Epoch: m.Epoch + 1}, pull(1), fault.StaleEpoch},
		"no merge":         {other, ref(held), pull(1), fault.Validation},
		"nobody's job":     {forger, lease.Ref{Job: "FB-99", Epoch: 1}, pull(1), fault.NotFound},
		"no address":       {forger, ref(m), report.PullRequest{URL: "javascript:alert(1)", Number: 1, Branch: "b"}, fault.Validation},
		"an empty address": {forger, ref(m), report.PullRequest{Number: 1, Branch: "b"}, fault.Validation},
		"no number":        {forger, ref(m), report.PullRequest{URL: pull(1).URL, Branch: "b"}, fault.Validation},
		"two lines":        {forger, ref(m), report.PullRequest{URL: pull(1).URL, Number: 1, Branch: "b\nc"}, fault.Validation},
	} {
		if _, err := w.Dispatch.Follow(w.Ctx, c.who, c.ref, c.pull); !fault.Is(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if held.ID != plain.ID {
		t.Errorf("%s was claimed", held.Key)
	}
	if _, err := w.Dispatch.Follow(w.Ctx, forger, ref(m), pull(4)); err != nil {
		t.Fatal(err)
	}
	no := false
	if _, err := w.Dispatch.Fail(w.Ctx, forger, ref(m), report.Failure{Error: "red", Kind: "checks_failed", Retryable: no}); err != nil {
		t.Fatal(err)
	}
	w.mergeCycle(1)
	w.Act(w.Want(work, jobs.InReview), jobs.ByApprove)
	w.mergeCycle(1)
	_, order = w.order(forger)
	if want := (lease.OpenedPullRequest{Number: 4, Branch: "fleet/FB-1-e1", Commit: "abc"}); order.Opened == nil || *order.Opened != want {
		t.Errorf("it goes on with %+v", order.Opened)
	}
}

// An agent follows at most so many; beyond that a lease keeps its seat, and further merges are
// not given to it.
func TestAnAgentFollowsOnlySoMany(t *testing.T) {
	w := newTestWorkspace(t)
	w.approvedByPull()
	forger := w.forger("forger")
	m, _ := w.order(forger)
	dbfactory.Exec(t, w.DB, `WITH made AS (INSERT INTO job (workspace_id, id, key, title, product_id, lane_id, status, created_by)
			SELECT j.workspace_id, gen_random_uuid(), 'PR-' || n, 'merge', j.product_id, j.lane_id, 'running', 'test'
			FROM job j, generate_series(1, $2::int) n WHERE j.id = $1 RETURNING workspace_id, id)
		INSERT INTO job_lease (workspace_id, job_id, epoch, agent_id, factory_id, ttl_seconds, expires_at, follows)
			SELECT made.workspace_id, made.id, 1, l.agent_id, l.factory_id, 900, now() + interval '1 hour', true
			FROM made, job_lease l WHERE l.job_id = $1`, m.ID, fleet.MaxFollowed-1)
	if _, err := w.Dispatch.Follow(w.Ctx, forger, ref(m), pull(4)); err != nil {
		t.Fatal(err)
	}
	merge := w.Job("Merge by hand", needs(fleet.OpensPullRequests))
	w.Nothing(forger, claim.ReasonEmpty)
	dbfactory.Exec(t, w.DB, `UPDATE job_lease SET follows = false WHERE job_id = $1`, m.ID)
	dbfactory.Exec(t, w.DB, `WITH made AS (INSERT INTO job (workspace_id, id, key, title, product_id, lane_id, status, created_by)
			SELECT j.workspace_id, gen_random_uuid(), 'PR-last', 'merge', j.product_id, j.lane_id, 'running', 'test'
			FROM job j WHERE j.id = $1 RETURNING workspace_id, id)
		INSERT INTO job_lease (workspace_id, job_id, epoch, agent_id, factory_id, ttl_seconds, expires_at, follows)
			SELECT made.workspace_id, made.id, 1, l.agent_id, l.factory_id, 900, now() + interval '1 hour', true
			FROM made, job_lease l WHERE l.job_id = $1`, m.ID)
	if _, err := w.Dispatch.Follow(w.Ctx, forger, ref(m), pull(4)); !fault.Is(err, fault.TooMany) {
		t.Errorf("one more: %v", err)
	}
	if got := w.Get(merge); got.Status != jobs.Ready {
		t.Errorf("it is %s", got.Status)
	}
}

// The address of a pull request holds no secret of the work: one that does is refused.
func TestAPullRequestKeepsNoSecret(t *testing.T) {
	w := newTestWorkspace(t)
	w.Product(jobs.DefaultProduct, jobs.ProductSettings{Merge: jobs.Merge{By: jobs.MergeByPullRequest}})
	j := w.Job("work", reviewed, inRepo("atlas"), func(n *jobs.New) {
		n.InputContext, n.SecretKeys = json.RawMessage(`{"TOKEN":"correct-horse-battery"}`), []string{"TOKEN"}
	})
	author := w.Agent("author", hasAtlas)
	done, err := w.Dispatch.Complete(w.Ctx, author, ref(w.Claim(author)), report.Completion{Commit: "abc", Branch: "b"})
	if err != nil {
		t.Fatal(err)
	}
	w.Act(done.Job, jobs.ByApprove)
	w.mergeCycle(1)
	forger := w.forger("forger")
	m, _ := w.order(forger)
	for _, p := range []report.PullRequest{{URL: "https://git.example/?t=correct-horse-battery", Number: 1, Branch: "b"},
		{URL: "https://git.example/1", Number: 1, Branch: "correct-horse-battery"}} {
		if _, err := w.Dispatch.Follow(w.Ctx, forger, ref(m), p); !fault.Is(err, fault.Validation) {
			t.Errorf("%+v: %v", p, err)
		}
	}
	if now := w.Get(j); now.URL != "" {
		t.Errorf("the work names %q", now.URL)
	}
}
