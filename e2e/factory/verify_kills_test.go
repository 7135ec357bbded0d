package factory

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fleetboard/fleetboard/api"
)

// A worker that is killed while it verifies goes on under its lease, and there is one verdict: killed while
// the check runs, while the engine does, and after the verdict while its report waits for the server.
func TestAKilledVerifierGivesOneVerdict(t *testing.T) {
	t.Parallel()
	for name, at := range map[string]struct{ check, engine, verdict string }{
		"while the check runs":  {check: "BLOCK"},
		"while the engine runs": {engine: "BLOCK"},
		"after the verdict":     {verdict: "BLOCK"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newServerAndRepos(t)
			flag := filepath.Join(s.dir, "go")
			block := map[string]string{"BLOCK": "touch " + filepath.Join(s.dir, "begun") + "; until test -e " + flag + "; do sleep 0.1; done", "": "true"}
			s.verified(block[at.check], 0)
			s.author()
			key, verify := s.handInWork("Add", write("sum.sh", "echo $(( $1 + $2 ))"), step{"steps": []step{
				{"run": block[at.engine]}, say("approve", "yes"), {"run": block[at.verdict]}}})
			w := s.worker("glass")
			s.untilFile("begun")
			w.Kill()
			s.letGo(flag)
			w.Start()
			s.judgeOneVerdict(key, verify)
		})
	}
}

func TestAVerdictOutlivesAnOutage(t *testing.T) {
	t.Parallel()
	s := newServerAndRepos(t)
	s.verified("", 0)
	s.author()
	flag := filepath.Join(s.dir, "go")
	key, verify := s.handInWork("Add", write("sum.sh", "echo $(( $1 + $2 ))"), step{"steps": []step{say("approve", "yes"),
		{"run": "touch " + filepath.Join(s.dir, "begun") + "; until test -e " + flag + "; do sleep 0.1; done"}}})
	w := s.worker("glass")
	s.untilFile("begun")
	s.server.Kill()
	s.letGo(flag)
	s.until("the report is written down", func() bool {
		files, _ := filepath.Glob(filepath.Join(s.state("glass"), "outbox", "*.json"))
		return len(files) == 1
	})
	w.Kill()
	s.startServer()
	w.Start()
	s.judgeOneVerdict(key, verify)
}

// letGo writes the file that a script waits for.
func (s *serverAndRepos) letGo(flag string) {
	s.t.Helper()
	if err := os.WriteFile(flag, nil, 0o600); err != nil {
		s.t.Fatal(err)
	}
}

// judgeOneVerdict waits for the verdict of an attempt, of which there was one.
func (s *serverAndRepos) judgeOneVerdict(key, verify string) {
	s.t.Helper()
	v := s.untilStatus(verify, api.JobStatusCompleted)
	if n := count(s.events(key), "job.verdict_given"); n != 1 || v.Attempts != 1 || v.LostCount != 0 || s.job(key).Verdict != "approve" {
		s.t.Errorf("%d verdicts, the last one %q, after %d attempts of which %d were lost", n, s.job(key).Verdict, v.Attempts, v.LostCount)
	}
}

// A person who decides ends the verification: the engine is stopped, nothing is said of the work, and the
// worker goes on with the next job.
func TestADecisionEndsTheVerification(t *testing.T) {
	t.Parallel()
	s := newServerAndRepos(t)
	s.verified("", 0)
	s.author()
	key, verify := s.handInWork("Add", write("sum.sh", "echo $(( $1 + $2 ))"), step{"steps": []step{say("changes", "no"),
		{"run": "touch " + filepath.Join(s.dir, "begun") + "; until test -e " + filepath.Join(s.dir, "never") + "; do sleep 0.1; done"}}})
	s.worker("glass")
	s.untilFile("begun")
	s.approve(key)
	s.untilStatus(verify, api.JobStatusAborted)
	if j := s.job(key); j.Verdict != "" || count(s.events(key), "job.verdict_given") != 0 {
		t.Errorf("the verdict is %q", j.Verdict)
	}
	next := s.submitAs(api.NewJob{Title: "Next", Repo: new("ledger"), Factory: new("glass"), ReviewRequired: new(false)}, step{"run": "true"})
	s.untilStatus(next, api.JobStatusCompleted)
	if left, _ := filepath.Glob(filepath.Join(s.state("glass"), "merges", "*")); len(left) > 0 {
		t.Errorf("the checkout is still there: %v", left)
	}
}

// An engine that runs the model of an author after all gives no verdict, whatever its worker said when it
// registered: the job has failed, with the reason, and is not tried again.
func TestTheModelOfAnAuthorGivesNoVerdict(t *testing.T) {
	t.Parallel()
	s := newServerAndRepos(t)
	s.verifiedAs("", api.ProductVerifySettings{Distinct: new(api.DistinctModel)})
	s.author("--model", "claude-sonnet-4-5")
	key, verify := s.handInWork("Add", write("sum.sh", "echo $(( $1 + $2 ))"), step{"steps": []step{say("approve", "yes"),
		{"usage": step{"provider": "anthropic", "model": "claude-sonnet-4-5", "input_tokens": 100, "output_tokens": 10}}}})
	s.worker("glass", "--model", "gpt-5-codex")
	v := s.untilStatus(verify, api.JobStatusFailed)
	if s.job(key).Verdict != "" || v.Attempts != 1 || !strings.Contains(v.LastError, "claude-sonnet-4-5 must not verify") {
		t.Errorf("the verdict is %q, after %d attempts: %s", s.job(key).Verdict, v.Attempts, v.LastError)
	}
}
