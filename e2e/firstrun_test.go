package e2e

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fleetboard/fleetboard/e2e/processtest"
)

// From an empty directory to the first completed job by doing what the pages say: the
// set-up link, the lines of the empty board as they are copied, the form of a new job.
func TestTheFirstJobByPastingWhatThePagesSay(t *testing.T) {
	t.Parallel()
	s := start(t, openDir(t))
	begin := time.Now()
	v := s.visit(desktop)
	v.open(s.setup)
	v.fill("#workspace", "Kestrel Labs")
	v.fill("#name", "Mara Ilić")
	v.fill("#email", ownerEmail)
	v.fill("#password", ownerPassword)
	v.click("button[type=submit]")
	v.must("reach the board", v.tab.WaitForURL("**/board"))

	v.live()
	paste(t, v.lines("#start-agent"))
	v.sees("#first-offers:has-text('fleetboard-demo')")
	v.click("#first-run a:has-text('Create the first job')")
	v.sees("#repo:has(option:checked[value='fleetboard-demo'])")
	v.fill("#title", "Add the first line")
	v.click("button[type=submit]:has-text('Create job')")
	v.must("reach the job", v.tab.WaitForURL(keyInURL))
	v.open("/board")
	v.sees(card("FB-1", "done"))
	t.Logf("from the set-up link to the first completed job: %.1f s", time.Since(begin).Seconds())
}

// The lines of Settings, Connect an agent, with a token that was made there.
func TestTheAgentStartsByTheLinesOfConnect(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	s.submit("Say hello")
	v := s.visit(desktop)
	v.logIn()
	v.open("/settings/connect")
	v.click("#connect-form button[type=submit]")
	v.sees("#new-token:has-text('It ends on')")
	home := paste(t, v.lines("#connect-environment")+v.lines("#connect-agent"))
	v.open("/board")
	v.sees(card("FB-1", "done"))
	if text := git(t, home+"/fleetboard-demo", "show", "fleet/FB-1:JOBS.md"); text != "* Say hello" {
		t.Errorf("the commit holds %q", text)
	}
}

// paste runs lines in a shell of a host that has nothing: no git identity, no
// repository. What they start ends with the test. It returns the host's home.
func paste(t *testing.T, lines string) string {
	t.Helper()
	home := t.TempDir()
	shell := exec.Command("bash") //nolint:noctx // ended by the clean-up
	shell.Dir, shell.Stdin = home, strings.NewReader(lines)
	shell.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "GIT_CONFIG_NOSYSTEM=1"}
	out := &processtest.Output{}
	shell.Stdout, shell.Stderr = out, out
	shell.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // so that all it starts ends
	if err := shell.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = syscall.Kill(-shell.Process.Pid, syscall.SIGTERM)
		_ = shell.Wait()
		if t.Failed() {
			t.Logf("the shell said:\n%s", out)
		}
	})
	return home
}
