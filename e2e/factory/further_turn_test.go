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
