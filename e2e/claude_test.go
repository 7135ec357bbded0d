package e2e

import (
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fleetboard/fleetboard/api"
	"github.com/fleetboard/fleetboard/internal/client/engines/scripted"
	"github.com/fleetboard/fleetboard/internal/client/worker/repos"
)

// From the line of the Connect page to a completed job, with the real Claude Code against
// a model that says what a script says: a person submits in the browser, the worker runs
// the program in a worktree, it asks through its tools, the person answers on the job's
// page, the same session goes on, and the work is handed in.
func TestClaudeCodeDoesAJob(t *testing.T) {
	t.Parallel()
	s, programs := ownServer(t), fleetPrograms(t) // the page of the first workspace names its token's file
	var script atomic.Pointer[http.Handler]
	say := func(steps ...scripted.Step) { h := scripted.New(steps); script.Store(&h) }
	say(scripted.Step{Text: "I say what I do.", Tool: "report_progress", Arguments: map[string]any{"step": "reads the greeting", "percent": 30},
		Usage: scripted.Usage{Input: 1000, Output: 40}},
		scripted.Step{Text: "I write.", Command: "echo hello > greeting.txt", Usage: scripted.Usage{Input: 100, CacheRead: 900, Output: 30}},
		scripted.Step{Text: "I tell.", Tool: "send_message", Arguments: map[string]any{"to": "person:" + s.email, "text": "The greeting is written."},
			Usage: scripted.Usage{Input: 95, Output: 15}},
		scripted.Step{Text: "I ask.", Tool: "ask_person", Arguments: map[string]any{"question": "In which language?"}, Usage: scripted.Usage{Input: 90, Output: 20}},
		scripted.Step{Text: "I asked.", Usage: scripted.Usage{Input: 80, Output: 10}})
	model := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { (*script.Load()).ServeHTTP(w, r) }))
	t.Cleanup(model.Close)

	v := s.visit(desktop)
	v.logIn()
	v.open("/settings/connect")
	begin := time.Now()
	home := paste(t, strings.Join([]string{"export PATH=" + programs + ":$PATH ANTHROPIC_BASE_URL=" + model.URL + " ANTHROPIC_API_KEY=none",
		"export CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1 DISABLE_AUTOUPDATER=1", // the machine has no network for it
		"git init -q -b main src/atlas && git -C src/atlas -c user.name=mara -c user.email=mara@kestrel.example commit -q --allow-empty -m Begin",
		v.lines("#connect-worker")}, "\n"))
	v.open("/agents")
	v.sees("text=atlas")
	t.Logf("from the pasted line to the factory on the page: %.1f s", time.Since(begin).Seconds())

	v.open("/jobs/new")
	v.fill("#title", "Greet the world")
	v.must("choose the repo", selectOption(v, "#repo", "atlas"))
	v.click("button[type=submit]:has-text('Create job')")
	v.must("reach the job", v.tab.WaitForURL(keyInURL))
	v.sees("text=In which language?")
	// The log tells it while the attempt still runs, which would take a step of the next script.
	eventually(t, "the job waits for the answer", func() bool { return s.job("FB-1").Status == api.JobStatusBlocked })
	say(scripted.Step{Text: "I go on.", Command: `printf "hello\nhallo\n" > greeting.txt`, Usage: scripted.Usage{Input: 70, Output: 9}},
		scripted.Step{Text: "It greets in two languages.", Usage: scripted.Usage{Input: 60, Output: 8}})
	v.fill("#answer-text", "Also in German.")
	v.click("#answer button[type=submit]")
	v.sees("text=It greets in two languages.")
	t.Logf("from the pasted line to the first completed job: %.1f s", time.Since(begin).Seconds())

	// The log tells it before the work is handed in.
	eventually(t, "the job has ended", func() bool { return s.job("FB-1").Status == api.JobStatusCompleted })
	j := s.job("FB-1")
	if j.Status != api.JobStatusCompleted || j.Attempts != 2 {
		t.Errorf("it is %s after %d attempts: %s", j.Status, j.Attempts, j.LastError)
	}
	branch, at := "fleet/"+repos.Attempt{Job: "FB-1", ID: j.ID.String(), Epoch: 2}.Name(), filepath.Join(home, "src/atlas")
	eventually(t, "the branch is in the clone", func() bool { return strings.Contains(git(t, at, "for-each-ref"), branch) })
	if got := git(t, at, "show", branch+":greeting.txt"); got != "hello\nhallo" {
		t.Errorf("the file says %q", got)
	}
	if trailer := git(t, at, "log", "-1", "--format=%(trailers:key=Fleetboard-Job,valueonly)", branch); trailer != "FB-1" {
		t.Errorf("the commit's trailer is %q", trailer)
	}
	thread, err := s.owner().ReadThreadWithResponse(t.Context(), "FB-1", nil)
	if err != nil || thread.JSON200 == nil {
		t.Fatalf("read the thread: %v", err)
	}
	if !slices.ContainsFunc(thread.JSON200.Items, func(m api.Message) bool {
		return m.Type == "custom.note" && m.To.Kind == api.MessageAddressKindPerson && strings.Contains(string(m.Payload), "The greeting is written.")
	}) {
		t.Errorf("the thread has no message of the agent: %s", thread.Body)
	}
	// What the script used, call by call, and one call in each run that names the session.
	if u := j.Usage; u.InputTokens < 1000+100+95+90+80+70+60 || u.OutputTokens < 40+30+15+20+10+9+8 {
		t.Errorf("the usage is %+v", u)
	}
}

// fleetPrograms returns a directory with the fleet command and Claude Code.
func fleetPrograms(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", filepath.Join(dir, "fleet"), "github.com/fleetboard/fleetboard/cmd/fleet").CombinedOutput(); err != nil {
		t.Fatalf("build the fleet command: %v\n%s", err, out)
	}
	claude, err := filepath.Abs("../.tools/engines/node_modules/.bin/claude")
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), "ln", "-s", claude, dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return dir
}
