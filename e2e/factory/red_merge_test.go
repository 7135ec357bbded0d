package factory

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fleetboard/fleetboard/api"
)

// Work that its verifier and the policy approve, and that is red where a worker merges it with what has
// come to main meanwhile, goes back to its agent with what the checks printed. Mended it is verified,
// approved and merged, and no person has done anything.
func TestARedMergeIsMendedAndMerged(t *testing.T) {
	t.Parallel()
	s := newServerAndRepos(t)
	_, err := s.person.PutProductWithResponse(t.Context(), "books", api.ProductSettings{Repos: &[]string{"ledger"}, ReviewRequired: new(true),
		MergeBy: new(api.MergeByWorker), MergeChecks: new("test ! -e RED || grep -q 'line 3' GREEN || { echo 'RED meets sum.sh in line 3'; exit 7; }"),
		Verify:      &api.ProductVerifySettings{Mode: new(api.VerifyMode("agent")), Rounds: new(1)},
		AutoApprove: &api.ProductAutoApproveSettings{Enabled: new(true), MaxLines: new(10)}})
	if err != nil {
		t.Fatal(err)
	}
	s.author()
	key, verify := s.handInWork("Add", `if test -e sum.sh; then jq -r .feedback "$FLEETBOARD_JOB_FILE" > GREEN; else `+
		write("sum.sh", "echo $(( $1 + $2 ))")+"\nfi", step{"steps": []step{say("approve", "yes")}})
	s.commitToMain("ledger", "RED")
	glass := s.worker("glass")
	s.untilStatus(verify, api.JobStatusCompleted)
	glass.Kill()
	s.until("the second round is handed in", func() bool { return s.job(key).Status == api.JobStatusInReview && s.job(key).Attempts == 2 })
	if said := strings.Join(s.events(key), " "); !strings.Contains(said, "job.merge_failed") || s.job(key).Round != 1 {
		t.Errorf("in round %d: %s", s.job(key).Round, said)
	}
	if text, there := s.fileAt("main", "sum.sh"); there {
		t.Errorf("what was red is on main: %q", text)
	}
	s.play(step{"steps": []step{say("approve", "yes")}}, s.verifyOf(key))
	glass.Start()
	j := s.untilStatus(key, api.JobStatusCompleted)
	if text, _ := s.fileAt("main", "GREEN"); !strings.Contains(text, "RED meets sum.sh in line 3") || j.MergedCommit != s.git(s.origin("ledger"), "rev-parse", "main") {
		t.Errorf("merged as %s main has %q", j.MergedCommit, text)
	}
	if n := count(s.events(key), "job.approved"); n != 2 {
		t.Errorf("it was approved %d times", n)
	}
}

// commitToMain has somebody else push a file to the default branch of a repository.
func (s *serverAndRepos) commitToMain(repo, file string) {
	s.t.Helper()
	dir := filepath.Join(s.dir, "somebody-else")
	s.git(s.dir, "clone", "--quiet", s.origin(repo), dir)
	if err := os.WriteFile(filepath.Join(dir, file), []byte("by somebody else\n"), 0o600); err != nil {
		s.t.Fatal(err)
	}
	s.git(dir, "add", file)
	s.git(dir, "commit", "--quiet", "-m", "Add "+file)
	s.git(dir, "push", "--quiet", "origin", "HEAD:main")
}
