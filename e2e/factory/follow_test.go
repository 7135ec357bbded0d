package factory

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"fleetboard/e2e/forgetest"
	"fleetboard/handlers/api/apiclient"
)

// A worker with one seat follows pull requests that nobody merges, and runs jobs meanwhile,
// also in a product that allows one job in a repo.
func TestPullRequestsThatWaitTakeNoSeat(t *testing.T) {
	s := newStage(t)
	forge := s.atForge(forgetest.NewGitea, "gitea")
	forge.WantReviews(1)
	w := s.worker("desk", append(forgeFlags("gitea", forge.URL), "--seats", "1", "--forge-quiet", "0s")...)
	var merges []string
	for n := range 3 {
		branch, commit := s.work(fmt.Sprintf("%d.txt", n), "work")
		merges = append(merges, s.orderMerge(handed{by: apiclient.MergeByPullRequest, title: "Work", commit: commit, branch: branch}))
		s.pullOf(merges[n])
	}
	if _, err := s.person.PutProductWithResponse(t.Context(), "books", apiclient.ProductSettings{Repos: &[]string{"ledger"},
		MergeBy: new(apiclient.MergeByPullRequest), OneJobPerRepo: new(true)}); err != nil {
		t.Fatal(err)
	}
	key := s.submit(step{"run": "echo meanwhile > meanwhile.txt"})
	s.untilStatus(key, apiclient.JobStatusCompleted)
	for n, merge := range merges {
		if j := s.job(merge); j.Status != apiclient.JobStatusRunning || j.Attempts != 1 {
			t.Errorf("%s is %s after %d attempts", merge, j.Status, j.Attempts)
		}
		forge.Approve(n + 1)
	}
	for _, merge := range merges {
		s.untilStatus(merge, apiclient.JobStatusCompleted)
	}
	if strings.Contains(w.Output(), "keeps its seat") {
		t.Error("a pull request kept its seat")
	}
	if pulls := len(forge.Branches()); pulls != len(merges) {
		t.Errorf("%d pull requests were opened", pulls)
	}
}

// Work that was rejected after its pull request was opened goes on in that one, which stays on
// the job.
func TestRejectedWorkGoesOnInItsPullRequest(t *testing.T) {
	s := newStage(t)
	forge := s.atForge(forgetest.NewGitea, "gitea")
	s.worker("desk", forgeFlags("gitea", forge.URL)...)
	if _, err := s.person.PutProductWithResponse(t.Context(), "books", apiclient.ProductSettings{Repos: &[]string{"ledger"},
		ReviewRequired: new(true), MergeBy: new(apiclient.MergeByPullRequest)}); err != nil {
		t.Fatal(err)
	}
	key := s.submit(step{"run": "date +%N >> tries.txt"})
	s.untilStatus(key, apiclient.JobStatusInReview)
	s.approve(key)
	url := s.pullOf(s.mergeOf(key))
	first := s.git(s.origin("ledger"), "rev-parse", s.branch(key, 1))
	forge.SetStatus(first, "ci/build", "failure")
	if j := s.untilStatus(key, apiclient.JobStatusInReview); j.URL != url {
		t.Errorf("its address is %q; %s was opened", j.URL, url)
	}
	if _, err := s.person.RejectJobWithResponse(t.Context(), key, apiclient.RejectJobJSONRequestBody{Reason: "Once more."}); err != nil {
		t.Fatal(err)
	}
	s.until("it was handed in again", func() bool {
		j := s.job(key)
		return j.Status == apiclient.JobStatusInReview && j.Attempts == 2
	})
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
	j := s.untilStatus(key, apiclient.JobStatusCompleted)
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
	s := newStage(t)
	forge := s.atForge(forgetest.NewGitea, "gitea")
	s.worker("desk", forgeFlags("gitea", forge.URL)...)
	if _, err := s.person.PutProductWithResponse(t.Context(), "books", apiclient.ProductSettings{Repos: &[]string{"ledger"},
		ReviewRequired: new(true), MergeBy: new(apiclient.MergeByPullRequest)}); err != nil {
		t.Fatal(err)
	}
	key := s.submit(step{"run": "date +%N >> tries.txt"})
	s.untilStatus(key, apiclient.JobStatusInReview)
	s.approve(key)
	s.pullOf(s.mergeOf(key))
	branch := s.branch(key, 1)
	theirs := s.git(s.origin("ledger"), "commit-tree", "-p", branch, "-m", "Theirs", branch+"^{tree}")
	s.until("the forge has noticed the pull request", func() bool { return strings.Contains(s.job(s.mergeOf(key)).CurrentStep, "waits for checks") })
	s.git(s.origin("ledger"), "update-ref", "refs/heads/"+branch, theirs)
	s.untilStatus(key, apiclient.JobStatusInReview)
	if _, err := s.person.RejectJobWithResponse(t.Context(), key, apiclient.RejectJobJSONRequestBody{Reason: "Once more."}); err != nil {
		t.Fatal(err)
	}
	s.until("it was handed in again", func() bool {
		j := s.job(key)
		return j.Status == apiclient.JobStatusInReview && j.Attempts == 2
	})
	s.approve(key)
	s.until("another one is opened", func() bool { return len(forge.Branches()) == 2 })
	if now := s.git(s.origin("ledger"), "rev-parse", branch); now != theirs {
		t.Errorf("the branch is %s; somebody else pushed %s", now, theirs)
	}
}
