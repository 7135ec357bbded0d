package api_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// The example of an agent in Go works on a job, asks about another, and ends as it should.
func TestExampleAgent(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	program := filepath.Join(t.TempDir(), "wordcount")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, "../../examples/wordcount").CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	counted := w.job("Count", object{"body": "one two three"})
	asked := w.job("Count, too")
	var out bytes.Buffer
	cmd := exec.CommandContext(t.Context(), program)
	cmd.Env = append(os.Environ(), "FLEETBOARD_URL="+w.url, "FLEETBOARD_ENROLMENT_TOKEN="+w.enrolment)
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	reach := func(job, status string) answer {
		for range 3000 {
			if a := w.as(w.owner, "GET", "/jobs/"+job, nil).want(200); a.text("status") == status {
				return a
			}
			<-again.C
		}
		t.Fatalf("a minute has passed, and %s is not %s", job, status)
		return answer{}
	}
	if got := reach(counted, "completed").text("result", "summary"); got != "There are 3 words." {
		t.Errorf("the summary is %q", got)
	}
	if got := reach(asked, "blocked").text("question"); got != "Which words are to be counted?" {
		t.Errorf("the question is %q", got)
	}
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("the agent ended with %v: %s", err, out.String())
	}
}
