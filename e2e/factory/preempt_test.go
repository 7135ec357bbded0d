package factory

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fleetboard/fleetboard/api"
)

// A worker with one seat gives a job back, from a checkpoint, for an urgent one, does that, and goes on
// with the first one where it was.
func TestAnUrgentJobGetsTheSeatOfARunningOne(t *testing.T) {
	t.Parallel()
	s := newServerAndRepos(t)
	if _, err := s.person.PutDispatchWithResponse(t.Context(), api.DispatchChange{PreemptGap: new(4)}); err != nil {
		t.Fatal(err)
	}
	s.worker("desk", "--seats", "1")
	flag := filepath.Join(s.dir, "go")
	low := s.submit(
		step{"run": "test -e work.txt && echo went on >> work.txt || echo begun > work.txt; touch " + filepath.Join(s.dir, "begun") + "-$FLEETBOARD_EPOCH"},
		step{"run": "until test -e " + flag + "; do sleep 0.1; done"},
	)
	s.untilFile("begun-1")
	urgent := s.submitAs(api.NewJob{Title: "Mend the login", Repo: new("ledger"), Priority: new(9)}, step{"run": "echo mended > login.txt"})
	if j := s.untilStatus(urgent, api.JobStatusCompleted); j.Attempts != 1 {
		t.Errorf("the urgent one took %d attempts", j.Attempts)
	}
	s.untilFile("begun-2")
	s.until("its checkpoint names the commit that it goes on from", func() bool {
		answer, err := s.person.ListAttemptsWithResponse(t.Context(), low, nil)
		return err == nil && slices.ContainsFunc(answer.JSON200.Items, func(a api.Attempt) bool {
			return strings.Contains(string(a.Checkpoint), s.branch(low, 2)) && strings.Contains(string(a.Checkpoint), `"commit"`)
		})
	})
	if err := os.WriteFile(flag, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	j := s.untilStatus(low, api.JobStatusCompleted)
	if j.Attempts != 2 || j.FailureCount != 0 || j.LostCount != 0 {
		t.Errorf("the low one took %d attempts, failed %d times and was lost %d times", j.Attempts, j.FailureCount, j.LostCount)
	}
	if happened := s.events(low); count(happened, "job.preempt_asked") != 1 || count(happened, "job.preempted") != 1 {
		t.Errorf("it happened %v", happened)
	}
	s.until("the branch is pushed", func() bool { return slices.Contains(s.branches(s.origin("ledger")), s.branch(low, 2)) })
	if got := s.git(s.origin("ledger"), "show", s.branch(low, 2)+":work.txt"); got != "begun\nwent on" {
		t.Errorf("the file says %q", got)
	}
}
