package factory

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/fleetboard/fleetboard/api"
	"github.com/fleetboard/fleetboard/e2e/processtest"
)

// fakeClaude prints what Claude Code does. While there is a file "refuse" in its home it is
// refused with the status and the words in it; "runs" has a line for each run.
const fakeClaude = `#!/bin/sh
case "$*" in *--version*) echo "2.1.0 (Claude Code)"; exit 0;; esac
cat > /dev/null
echo run >> "$HOME/runs"
echo '{"type":"system","subtype":"init","session_id":"s1"}'
if test -e "$HOME/refuse"; then
	mkdir "$HOME/running" || touch "$HOME/twice"
	read status words < "$HOME/refuse"
	sleep 0.2
	rmdir "$HOME/running"
	echo '{"type":"result","subtype":"success","is_error":true,"api_error_status":'$status',"session_id":"s1","result":"'"$words"'"}'
	exit 1
fi
echo hello > hello.txt
echo '{"type":"assistant","session_id":"s1","message":{"id":"m1","model":"claude-sonnet-4-5","content":[{"type":"text","text":"I greet."}],"usage":{"input_tokens":10,"output_tokens":5}}}'
echo '{"type":"result","subtype":"success","is_error":false,"session_id":"s1","result":"It greets.","usage":{"input_tokens":10,"output_tokens":5}}'
`

// withClaude puts the imitation into the path of workers.
func (s *serverAndRepos) withClaude() {
	s.t.Helper()
	bin := filepath.Join(s.dir, "bin")
	if err := os.Mkdir(bin, 0o700); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(bin, "claude"), []byte(fakeClaude), 0o700); err != nil {
		s.t.Fatal(err)
	}
	s.env = append(s.env, "PATH="+bin+string(filepath.ListSeparator)+os.Getenv("PATH"))
}

func (s *serverAndRepos) refuse(how string) {
	s.t.Helper()
	if err := os.WriteFile(filepath.Join(s.dir, "refuse"), []byte(how+"\n"), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

func (s *serverAndRepos) refuseNoMore() {
	s.t.Helper()
	if err := os.Remove(filepath.Join(s.dir, "refuse")); err != nil {
		s.t.Fatal(err)
	}
}

// runs returns how often the imitation ran.
func (s *serverAndRepos) runs() int {
	raw, _ := os.ReadFile(filepath.Join(s.dir, "runs"))
	return bytes.Count(raw, []byte("\n"))
}

func (s *serverAndRepos) factory(name string) *api.Factory {
	s.t.Helper()
	answer, err := s.person.ListFactoriesWithResponse(s.t.Context(), nil)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, f := range answer.JSON200.Items {
		if f.Name == name {
			return &f
		}
	}
	return &api.Factory{} // it has not registered yet
}

// withdrawn returns the reason for which a factory does not offer something, "" where it does.
func (s *serverAndRepos) withdrawn(factory string, kind api.UnavailableKind, name string) string {
	s.t.Helper()
	return withdrawnBy(s.factory(factory), kind, name)
}

func withdrawnBy(f *api.Factory, kind api.UnavailableKind, name string) string {
	for _, u := range f.Unavailable {
		if u.Kind == kind && u.Name == name {
			return u.Reason
		}
	}
	return ""
}

func (s *serverAndRepos) forClaude() string {
	s.t.Helper()
	return s.submitAs(api.NewJob{Title: "Greet", Repo: new("ledger"), Capabilities: &api.CapabilityList{"engine:claude"}})
}

// An engine whose key is dead is withdrawn with the reason, tried again with one job at a time,
// and offered as soon as it works; no job is the worse for it, and the other engine goes on.
func TestADeadKeyWithdrawsTheEngine(t *testing.T) {
	t.Parallel()
	s := newServerAndRepos(t)
	s.withClaude()
	s.refuse("401 Invalid API key · Please run /login")
	w := s.worker("desk", "--engine", "claude", "--seats", "2", "--retry", "1s")
	keys := []string{s.forClaude()}
	var f *api.Factory
	var why string
	s.until("claude is withdrawn", func() bool {
		f = s.factory("desk")
		why = withdrawnBy(f, api.UnavailableEngine, "claude")
		return why != ""
	})
	for range 3 {
		keys = append(keys, s.forClaude())
	}
	if why != "Invalid API key · Please run /login" || !slices.Equal(f.Engines, []string{"scripted"}) || slices.Contains(f.Offers, "claude:2.1") {
		t.Errorf("it offers %v, %v; withdrawn: %+v", f.Engines, f.Offers, f.Unavailable)
	}
	said, err := s.person.ExplainJobWithResponse(t.Context(), keys[0])
	if err != nil || !strings.Contains(string(said.Body), "Invalid API key") {
		t.Errorf("the explanation is %s, %v", said.Body, err)
	}
	s.untilStatus(s.submit(step{"run": "echo other > other.txt"}), api.JobStatusCompleted)
	s.until("it is tried again, and again", func() bool { return s.runs() >= 3 })
	if s.withdrawn("desk", api.UnavailableEngine, "claude") == "" && s.runs() > 20 {
		t.Error("it is offered still")
	}
	s.refuseNoMore()
	for _, key := range keys {
		j := s.untilStatus(key, api.JobStatusCompleted)
		if j.FailureCount != 0 || j.LostCount != 0 {
			t.Errorf("%s failed %d times and was lost %d times", key, j.FailureCount, j.LostCount)
		}
	}
	s.until("claude is offered", func() bool { return slices.Contains(s.factory("desk").Engines, "claude") })
	if got := s.withdrawn("desk", api.UnavailableEngine, "claude"); got != "" {
		t.Errorf("it is withdrawn still: %s", got)
	}
	if _, err := os.Stat(filepath.Join(s.dir, "twice")); err == nil {
		t.Error("two jobs tried it at once")
	}
	if strings.Contains(w.Output(), "claims nothing") {
		t.Error("it claimed nothing, though it had another engine")
	}
}

// A worker whose only engine has no credit claims nothing, and says so to everybody.
func TestAWorkerWithoutAnEngineClaimsNothing(t *testing.T) {
	t.Parallel()
	s := newServerAndRepos(t)
	s.withClaude()
	s.refuse("402 Your credit balance is too low")
	w := s.program(fleetBinary, "worker", "--repos", filepath.Join(s.dir, "repos"), "--engine", "claude", "--name", "desk", "--factory", "desk",
		"--state", s.state("desk"), "--lease", "10s", "--heartbeat", "1s", "--retry", "3s")
	w.Start()
	first := s.forClaude()
	s.until("it says that it claims nothing", func() bool {
		return strings.Contains(w.Output(), "claims nothing, because no engine works now: claude (Your credit balance is too low)")
	})
	any := s.submit()
	s.until("the board says so", func() bool {
		said, err := s.person.ExplainJobWithResponse(t.Context(), any)
		return err == nil && strings.Contains(string(said.Body), "none of its engines works now: claude (Your credit balance is too low)")
	})
	s.until("it is blocked", func() bool { return s.factory("desk").Agents[0].Status == "blocked" })
	if f := s.factory("desk"); f.SeatsFree != 0 || len(f.Engines) != 0 {
		t.Errorf("it has %d free seats and the engines %v", f.SeatsFree, f.Engines)
	}
	s.refuseNoMore()
	s.untilStatus(first, api.JobStatusCompleted)
	if j := s.untilStatus(any, api.JobStatusCompleted); j.Attempts != 1 {
		t.Errorf("it was claimed %d times", j.Attempts)
	}
}

// Repositories that cannot be read are reported with git's words: one that was never readable, and
// one in which an attempt could not begin, which costs the job nothing. Both come back.
func TestUnreadableRepositoriesAreTold(t *testing.T) {
	t.Parallel()
	s := newServerAndRepos(t)
	if err := os.MkdirAll(filepath.Join(s.clone("broken"), ".git"), 0o700); err != nil {
		t.Fatal(err)
	}
	s.repository("far")
	if _, err := s.person.PutProductWithResponse(t.Context(), "maps", api.ProductSettings{Repos: &[]string{"far"}}); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(s.clone("far")); err != nil {
		t.Fatal(err)
	}
	s.worker("desk", "--retry", "1s", "--clone", "file://"+filepath.Join(s.dir, "origins")+"/*.git")
	s.until("the far one is offered", func() bool { return len(s.factory("desk").Repos) == 2 })
	away := s.origin("far") + ".away"
	if err := os.Rename(s.origin("far"), away); err != nil {
		t.Fatal(err)
	}
	key := s.submitAs(api.NewJob{Title: "Far away", Repo: new("far")}, step{"run": "echo far > far.txt"})
	s.until("both are withdrawn", func() bool {
		return strings.Contains(s.withdrawn("desk", api.UnavailableRepo, "broken"), "not a git repository") &&
			strings.Contains(s.withdrawn("desk", api.UnavailableRepo, "far"), "does not appear to be a git repository")
	})
	if f := s.factory("desk"); len(f.Repos) != 1 || f.Repos[0].Name != "ledger" {
		t.Errorf("it offers %v", f.Repos)
	}
	if err := os.Rename(away, s.origin("far")); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(s.clone("broken")); err != nil {
		t.Fatal(err)
	}
	if j := s.untilStatus(key, api.JobStatusCompleted); j.FailureCount != 0 || j.LostCount != 0 {
		t.Errorf("it failed %d times and was lost %d times", j.FailureCount, j.LostCount)
	}
	s.repository("broken")
	s.until("both are offered", func() bool { f := s.factory("desk"); return len(f.Repos) == 3 && len(f.Unavailable) == 0 })
}

// What could not be saved otherwise is named until a person has removed it.
func TestWhatWasRescuedIsTold(t *testing.T) {
	t.Parallel()
	s := newServerAndRepos(t)
	s.worker("desk")
	key := s.submit(step{"run": "mkdir d; echo a > d/a; mkdir 'd/GIT~1'; echo b > 'd/GIT~1/b'"})
	s.untilStatus(key, api.JobStatusCompleted)
	s.until("it is told", func() bool { return len(s.factory("desk").Rescued) == 1 })
	r := s.factory("desk").Rescued[0]
	if !strings.HasPrefix(r.Name, key) || r.Path != filepath.Join(s.state("desk"), "rescue", r.Name) || r.Why == "" || r.Since.IsZero() {
		t.Errorf("it is told as %+v", r)
	}
	cmd := exec.CommandContext(t.Context(), fleetBinary, "worker", "rescue", "remove", r.Name, "--state", s.state("desk"))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	s.until("it is told no more", func() bool { return len(s.factory("desk").Rescued) == 0 })
}

// onHost prepares a worker on a host of another name; all of these are one factory.
func (s *serverAndRepos) onHost(host, name string) *processtest.Process {
	s.t.Helper()
	args := []string{"--uts", "sh", "-c", `hostname "$1" && shift && exec "$@"`, "sh", host, fleetBinary, "worker",
		"--repos", filepath.Join(s.dir, "repos"), "--engine", "scripted", "--name", name, "--factory", "build", "--state", s.state(host + "-" + name),
		"--lease", "10s", "--heartbeat", "1s"}
	if os.Getuid() != 0 {
		args = append([]string{"--map-root-user"}, args...)
	}
	return s.program("/usr/bin/unshare", args...)
}

// Two hosts cannot be one factory at a time: the second learns which host has it, and ends.
// One that was killed leaves its name to the other after a time, and one that ended at once.
func TestAFactoryIsOnOneHost(t *testing.T) {
	t.Parallel()
	s := newServerAndRepos(t)
	alpha, beta := s.onHost("alpha", "desk"), s.onHost("beta", "desk")
	alpha.Start()
	s.until("it is registered", func() bool { return strings.Contains(alpha.Output(), "registered") })
	key := s.submit(step{"run": "echo one > one.txt"})
	s.untilStatus(key, api.JobStatusCompleted)

	beta.Start()
	beta.AwaitEnd(patience)
	const sentence = "The factory build lives on the host alpha since "
	if code := beta.ExitCode(); code == 0 || !strings.Contains(beta.Output(), "fleet: "+sentence) {
		t.Fatalf("it ended with %d and said %s", code, beta.Output())
	}
	second := s.onHost("alpha", "second") // a second agent on the host
	second.Start()
	s.until("it is registered", func() bool { return strings.Contains(second.Output(), "registered") })

	alpha.Kill()
	second.Kill()
	alpha.Start() // its host is known
	s.until("it is registered again", func() bool { return strings.Count(alpha.Output(), "msg=registered") == 2 })
	alpha.Kill()
	beta.Start() // the killed ones do not call again
	s.until("it takes over", func() bool { return strings.Contains(beta.Output(), "msg=registered") })
	key = s.submit(step{"run": "echo two > two.txt"})
	s.untilStatus(key, api.JobStatusCompleted)

	alpha.Start()
	alpha.AwaitEnd(patience)
	if code := alpha.ExitCode(); code == 0 || !strings.Contains(alpha.Output(), "lives on the host beta") {
		t.Errorf("it ended with %d and said %s", code, alpha.Output())
	}
	beta.Signal(syscall.SIGTERM)
	beta.AwaitEnd(patience)
	if f := s.factory("build"); f.State != api.FactoryStateEnded || f.Live || f.Health != api.HealthEnded {
		t.Errorf("it is %s, %s", f.State, f.Health)
	}
	waits := s.submit(step{"run": "echo three > three.txt"})
	said, err := s.person.ExplainJobWithResponse(t.Context(), waits)
	if err != nil || !strings.Contains(string(said.Body), "it has ended") {
		t.Errorf("the explanation is %s, %v", said.Body, err)
	}
	alpha.Start()
	s.untilStatus(waits, api.JobStatusCompleted)
	if f := s.factory("build"); f.State != api.FactoryStateLive || f.Host != "alpha" {
		t.Errorf("it is %s on %s", f.State, f.Host)
	}
}
