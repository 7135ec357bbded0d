package factory

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/fleetboard/fleetboard/api"
	"github.com/fleetboard/fleetboard/e2e/forgetest"
)

// A worker with one seat follows pull requests that nobody merges, and runs jobs meanwhile,
// also in a product that allows one job in a repo.
func TestPullRequestsThatWaitTakeNoSeat(t *testing.T) {
	t.Parallel()
	s := newServerAndRepos(t)
	forge := s.atForge(forgetest.NewGitea, "gitea")
	forge.WantReviews(1)
	w := s.worker("desk", append(forgeFlags("gitea", forge.URL), "--seats", "1", "--forge-quiet", "0s")...)
	var merges []string
	for n := range 3 {
		branch, commit := s.work(fmt.Sprintf("%d.txt", n), "work")
		merges = append(merges, s.orderMerge(handed{by: api.MergeByPullRequest, title: "Work", commit: commit, branch: branch}))
		s.pullOf(merges[n])
	}
	if _, err := s.person.PutProductWithResponse(t.Context(), "books", api.ProductSettings{Repos: &[]string{"ledger"},
		MergeBy: new(api.MergeByPullRequest), OneJobPerRepo: new(true)}); err != nil {
		t.Fatal(err)
	}
	key := s.submit(step{"run": "echo meanwhile > meanwhile.txt"})
	s.untilStatus(key, api.JobStatusCompleted)
	for n, merge := range merges {
		if j := s.job(merge); j.Status != api.JobStatusRunning || j.Attempts != 1 {
			t.Errorf("%s is %s after %d attempts", merge, j.Status, j.Attempts)
		}
		forge.Approve(n + 1)
	}
	for _, merge := range merges {
		s.untilStatus(merge, api.JobStatusCompleted)
	}
	if strings.Contains(w.Output(), "keeps its seat") {
		t.Error("a pull request kept its seat")
	}
	if pulls := len(forge.Branches()); pulls != len(merges) {
		t.Errorf("%d pull requests were opened", pulls)
	}
}

// approvedByPull has a worker do a job at a forge, and a person approve it, until its pull request
// is open at url.
func (s *serverAndRepos) approvedByPull() (forge *forgetest.Server, key, url string) {
	s.t.Helper()
	forge = s.atForge(forgetest.NewGitea, "gitea")
	s.worker("desk", forgeFlags("gitea", forge.URL)...)
	if _, err := s.person.PutProductWithResponse(s.t.Context(), "books", api.ProductSettings{Repos: &[]string{"ledger"},
		ReviewRequired: new(true), MergeBy: new(api.MergeByPullRequest)}); err != nil {
		s.t.Fatal(err)
	}
	key = s.submit(step{"run": "date +%N >> tries.txt"})
	s.untilStatus(key, api.JobStatusInReview)
	s.approve(key)
	return forge, key, s.pullOf(s.mergeOf(key))
}

// sendBack rejects the work of a job, and returns when it was handed in again.
func (s *serverAndRepos) sendBack(key string) {
	s.t.Helper()
	if _, err := s.person.RejectJobWithResponse(s.t.Context(), key, api.RejectJobJSONRequestBody{Reason: "Once more."}); err != nil {
		s.t.Fatal(err)
	}
	s.until("it was handed in again", func() bool {
		j := s.job(key)
		return j.Status == api.JobStatusInReview && j.Attempts == 2
	})
}

// Work that was rejected after its pull request was opened goes on in that one, which stays on
// the job.
func TestRejectedWorkGoesOnInItsPullRequest(t *testing.T) {
	t.Parallel()
	s := newServerAndRepos(t)
	forge, key, url := s.approvedByPull()
	first := s.git(s.origin("ledger"), "rev-parse", s.branch(key, 1))
	forge.SetStatus(first, "ci/build", "failure")
	if j := s.untilStatus(key, api.JobStatusInReview); j.URL != url {
		t.Errorf("its address is %q; %s was opened", j.URL, url)
	}
	s.sendBack(key)
	if j := s.job(key); j.URL != url {
		t.Errorf("in review again its address is %q; %s was opened", j.URL, url)
	}
	s.approve(key)
	s.until("the pull request has the new work", func() bool {
		return s.git(s.origin("ledger"), "rev-list", "--count", "main.."+s.branch(key, 1)) == "2"
	})
	second := s.git(s.origin("ledger"), "rev-parse", s.branch(key, 1))
	if second == first || s.git(s.origin("ledger"), "rev-parse", second+"^") != first {
		t.Errorf("%s is not on top of %s", second, first)
	}
	forge.SetStatus(second, "ci/build", "success")
	j := s.untilStatus(key, api.JobStatusCompleted)
	if branches := forge.Branches(); !slices.Equal(branches, []string{s.branch(key, 1)}) || j.URL != url {
		t.Errorf("pull requests came from %q; the job's address is %s, and %s was opened", branches, j.URL, url)
	}
	if types := s.events(key); !slices.Contains(types, "job.pull_request_opened") {
		t.Errorf("its history is %q", types)
	}
}

// Where somebody else has pushed to the branch of the earlier pull request, nothing of it is
// lost: another one is opened.
func TestAPullRequestThatSomebodyElseMovedIsLeftAlone(t *testing.T) {
	t.Parallel()
	s := newServerAndRepos(t)
	forge, key, _ := s.approvedByPull()
	branch := s.branch(key, 1)
	theirs := s.git(s.origin("ledger"), "commit-tree", "-p", branch, "-m", "Theirs", branch+"^{tree}")
	s.until("the forge has noticed the pull request", func() bool { return strings.Contains(s.job(s.mergeOf(key)).CurrentStep, "waits for checks") })
	s.git(s.origin("ledger"), "update-ref", "refs/heads/"+branch, theirs)
	s.untilStatus(key, api.JobStatusInReview)
	s.sendBack(key)
	s.approve(key)
	s.until("another one is opened", func() bool { return len(forge.Branches()) == 2 })
	if now := s.git(s.origin("ledger"), "rev-parse", branch); now != theirs {
		t.Errorf("the branch is %s; somebody else pushed %s", now, theirs)
	}
}

// A branch whose job ended longer ago than the product keeps branches goes at the origin; an
// attempt that adds nothing pushes none.
func TestTheOriginIsCleaned(t *testing.T) {
	t.Parallel()
	s := newServerAndRepos(t)
	w := s.worker("desk")
	if _, err := s.person.PutProductWithResponse(t.Context(), "books", api.ProductSettings{Repos: &[]string{"ledger"},
		BranchRetentionDays: new(1)}); err != nil {
		t.Fatal(err)
	}
	fails := s.submitAs(api.NewJob{Title: "Fails", Repo: new("ledger"), MaxRetries: new(1), RetryBackoffSeconds: new(0)},
		step{"run": "test -e half.txt && exit 1; echo half > half.txt; exit 1"})
	s.untilStatus(fails, api.JobStatusFailed)
	done := s.submit(step{"run": "echo done > done.txt"})
	s.untilStatus(done, api.JobStatusCompleted)
	s.until("the branches are pushed", func() bool {
		all := s.branches(s.origin("ledger"))
		return slices.Contains(all, s.branch(fails, 1)) && slices.Contains(all, s.branch(done, 1))
	})
	s.until("nothing is pushed of the second attempt", func() bool { return strings.Contains(w.Output(), "the attempt added nothing") })
	if all := s.branches(s.origin("ledger")); slices.Contains(all, s.branch(fails, 2)) {
		t.Errorf("the origin has %q", all)
	}
	w.Signal(syscall.SIGTERM)
	w.AwaitEnd(patience)
	gc := func(flags ...string) string {
		t.Helper()
		p := s.program(fleetBinary, append([]string{"worker", "gc", "--repos", filepath.Join(s.dir, "repos"), "--state", s.state("desk")}, flags...)...)
		p.Env = append(p.Env, "FLEETBOARD_TOKEN="+s.token("owner-token"))
		p.Start()
		p.AwaitEnd(patience)
		return p.Output()
	}
	if said := gc("--dry-run"); strings.Contains(said, "at the origin") {
		t.Errorf("before its time it says\n%s", said)
	}
	conn, err := pgx.Connect(t.Context(), s.database)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(t.Context()) }()
	if _, err := conn.Exec(t.Context(), `UPDATE job SET completed_at = completed_at - interval '2 days', failed_at = failed_at - interval '2 days'`); err != nil {
		t.Fatal(err)
	}
	plan := gc("--dry-run")
	for _, want := range []string{"branch " + s.branch(fails, 1) + " at the origin of ledger: " + fails + " ended on"} {
		if !strings.Contains(plan, want) {
			t.Errorf("it lacks %q:\n%s", want, plan)
		}
	}
	did := gc()
	if lines := strings.Split(did, "\n"); strings.Join(lines[:len(lines)-2], "\n") != strings.Join(strings.Split(plan, "\n")[:len(lines)-2], "\n") {
		t.Errorf("planned:\n%s\ndone:\n%s", plan, did)
	}
	if all := s.branches(s.origin("ledger")); slices.Contains(all, s.branch(fails, 1)) || !slices.Contains(all, s.branch(done, 1)) {
		t.Errorf("the origin has %q: what failed is to go, and what nobody merged is to stay", all)
	}
}
