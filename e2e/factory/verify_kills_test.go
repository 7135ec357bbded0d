package factory

import (
	"os"
	"path/filepath"
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
