package factory

import (
	"slices"
	"testing"

	"github.com/fleetboard/fleetboard/api"
)

// A completed job that is asked for more goes on from its own work, is told what more there is to do, and
// begins from the default branch once its work is there.
func TestACompletedJobHasAFurtherTurn(t *testing.T) {
	t.Parallel()
	s := newServerAndRepos(t)
	s.worker("desk")
	origin := s.origin("ledger")
	key := s.submit(step{"run": `jq -r '"turn: " + .feedback' "$FLEETBOARD_JOB_FILE" >> turns.txt`})
	s.untilStatus(key, api.JobStatusCompleted)
	pushed := func(epoch int64) string {
		s.until("its work is at the origin", func() bool { return slices.Contains(s.branches(origin), s.branch(key, epoch)) })
		return s.git(origin, "rev-parse", s.branch(key, epoch))
	}
	turn := func(more string) string {
		attempts := s.job(key).Attempts
		if _, err := s.person.RetryJobWithResponse(t.Context(), key, api.RetryAction{Reason: &more}); err != nil {
			t.Fatal(err)
		}
		s.until(more, func() bool {
			j := s.job(key)
			return j.Status == api.JobStatusCompleted && j.Attempts == attempts+1
		})
		return pushed(int64(attempts) + 1)
	}
	first := pushed(1)
	second := turn("Also rename the flag.")
	if said := s.git(origin, "show", second+":turns.txt"); said != "turn: \nturn: Also rename the flag." || s.git(origin, "rev-parse", second+"^") != first {
		t.Errorf("the second turn says %q, on top of %s", said, s.git(origin, "rev-parse", second+"^"))
	}
	squashed := s.git(origin, "commit-tree", second+"^{tree}", "-p", "main", "-m", "The work of both turns")
	s.git(origin, "update-ref", "refs/heads/main", squashed)
	third := turn("And document it.")
	if said := s.git(origin, "show", third+":turns.txt"); said != "turn: \nturn: Also rename the flag.\nturn: And document it." ||
		s.git(origin, "rev-parse", third+"^") != squashed {
		t.Errorf("the third turn says %q, on top of %s", said, s.git(origin, "rev-parse", third+"^"))
	}
}

// Merged work has a further turn that is reviewed and merged by itself.
func TestMergedWorkHasAFurtherTurn(t *testing.T) {
	t.Parallel()
	s := newServerAndRepos(t)
	s.worker("desk")
	if _, err := s.person.PutProductWithResponse(t.Context(), "books", api.ProductSettings{Repos: &[]string{"ledger"},
		ReviewRequired: new(true), MergeBy: new(api.MergeByWorker)}); err != nil {
		t.Fatal(err)
	}
	key := s.submit(step{"run": `jq -r '"turn: " + .feedback' "$FLEETBOARD_JOB_FILE" >> turns.txt`})
	merged := func(turns string) {
		t.Helper()
		s.untilStatus(key, api.JobStatusInReview)
		s.approve(key)
		j := s.untilStatus(key, api.JobStatusCompleted)
		if text, _ := s.fileAt("main", "turns.txt"); text != turns || j.MergedCommit != s.git(s.origin("ledger"), "rev-parse", "main") {
			t.Errorf("merged as %s main has %q", j.MergedCommit, text)
		}
	}
	merged("turn:")
	if _, err := s.person.RetryJobWithResponse(t.Context(), key, api.RetryAction{Reason: new("Also rename the flag.")}); err != nil {
		t.Fatal(err)
	}
	merged("turn: \nturn: Also rename the flag.")
}
