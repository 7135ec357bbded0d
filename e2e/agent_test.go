package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fleetboard/fleetboard/e2e/processtest"
)

// repository makes a git repository with one commit.
func repository(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, args := range [][]string{
		{"init", "-q", "-b", "main"},
		{"config", "user.name", "Test"},
		{"config", "user.email", "test@kestrel.example"},
		{"commit", "-q", "--allow-empty", "-m", "Begin"},
	} {
		git(t, dir, args...)
	}
	return dir
}

// holdCommits makes every commit in the repository wait until a file is there.
func holdCommits(t *testing.T, repo, gate string) {
	t.Helper()
	hook := "#!/bin/sh\nwhile [ ! -e '" + gate + "' ]; do sleep 0.1; done\n"
	if err := os.WriteFile(filepath.Join(repo, ".git", "hooks", "pre-commit"), []byte(hook), 0o700); err != nil {
		t.Fatal(err)
	}
}

func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "git", append([]string{"-C", dir}, args...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// script is a running examples/agent.sh.
type script struct {
	t    *testing.T
	cmd  *exec.Cmd
	out  *processtest.Output
	over chan error
}

// runAgent starts examples/agent.sh in a repository: it ends after one job.
func runAgent(t *testing.T, s *server, repo, name string) *script {
	t.Helper()
	path, err := filepath.Abs("../examples/agent.sh")
	if err != nil {
		t.Fatal(err)
	}
	a := &script{t: t, out: &processtest.Output{}, over: make(chan error, 1)}
	a.cmd = exec.Command("bash", path) //nolint:noctx // ended by the clean-up
	a.cmd.Dir = repo
	a.cmd.Env = append(os.Environ(), "FLEETBOARD_URL="+s.url, "FLEETBOARD_ENROLMENT_TOKEN="+s.token("enrolment-token"),
		"AGENT_NAME="+name, "FACTORY_NAME=linux-2", "REPO_NAME=ledger-api", "REPO_DIR="+repo, "AGENT_ONCE=1")
	a.cmd.Stdout, a.cmd.Stderr = a.out, a.out
	if err := a.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { a.over <- a.cmd.Wait() }()
	t.Cleanup(func() {
		_ = a.cmd.Process.Kill()
		if t.Failed() {
			t.Logf("agent %s said:\n%s", name, a.out)
		}
	})
	return a
}

// wait waits for the agent's end.
func (a *script) wait() {
	a.t.Helper()
	select {
	case err := <-a.over:
		if err != nil {
			a.t.Fatalf("the agent ended with %v", err)
		}
	case <-time.After(90 * time.Second):
		a.t.Fatal("the agent did not end")
	}
}

// eventually polls until the answer is yes.
func eventually(t *testing.T, what string, yes func() bool) {
	t.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for range 1200 {
		if yes() {
			return
		}
		<-tick.C
	}
	t.Fatalf("a minute has passed without %s", what)
}
