package repositories

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fleetboard/fleetboard/api"
	"github.com/fleetboard/fleetboard/db/dbtest"
	"github.com/fleetboard/fleetboard/e2e/processtest"
	"github.com/fleetboard/fleetboard/e2e/transporttest"
	"github.com/fleetboard/fleetboard/internal/client"
)

// patience is how long a test waits for what must happen; it does not say how fast it is.
const patience = 4 * time.Minute

// firstPort is the first port that servers of these tests may get.
const firstPort = 21000

// serverAndHosts is a server, the hosts that work for it, and a person who watches.
type serverAndHosts struct {
	t       *testing.T
	dir     string
	address string
	person  *api.Client
	server  *processtest.Process
}

// newServerAndHosts starts a server on a database of its own.
func newServerAndHosts(t *testing.T) *serverAndHosts {
	t.Helper()
	w := &serverAndHosts{t: t, dir: t.TempDir(), address: processtest.FreeAddress(t, firstPort)}
	w.server = &processtest.Process{T: t, Path: serverBinary, Env: append(transporttest.Environ(), "DATABASE_URL="+dbtest.URL(t),
		"FLEETBOARD_DATA_DIR="+filepath.Join(w.dir, "data"), "FLEETBOARD_LISTEN="+w.address, "FLEETBOARD_RATE_LIMIT=0",
		"FLEETBOARD_ADMIN_EMAIL=mara@kestrel.example", "FLEETBOARD_ADMIN_PASSWORD=quiet watch room 12",
		"PATH="+os.Getenv("PATH"), "HOME="+w.dir)}
	w.server.Start()
	until(t, "the server is ready", func() bool { return processtest.IsReady(t.Context(), w.address) })
	var err error
	if w.person, err = client.New(w.url(), w.token("owner-token"), api.Options{Retries: 20, LongestPause: time.Second}); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *serverAndHosts) url() string { return "http://" + w.address }

// token returns one of those that the first start wrote.
func (w *serverAndHosts) token(name string) string {
	w.t.Helper()
	text, err := os.ReadFile(filepath.Join(w.dir, "data", name))
	if err != nil {
		w.t.Fatal(err)
	}
	return strings.TrimSpace(string(text))
}

// host is a machine with a worker: its own home, settings of git, and repositories.
type host struct {
	name string
	// system is what stands in the machine's /etc/gitconfig, user in the ~/.gitconfig of its
	// user, beside who that is. @DIR@ is a directory of the host's own.
	system, user string
	files        map[string]string // below @DIR@
	flags        []string
	// pause is how long a call of git that writes waits first, in seconds; "" not at all.
	pause string
}

// tools are the programs that agents use. A worker that finds no others has less to probe.
var tools = []string{"sh", "bash", "env", "cat", "chmod", "cp", "dirname", "find", "git", "git-lfs", "head", "ln", "ls", "mkdir", "mkfifo", "mv", "rm", "setsid",
	"sleep", "touch", "tr", "true", "false", "uname", "sed", "id", "ps"}

// dir is where all of a host is.
func (w *serverAndHosts) hostDir(h host) string { return filepath.Join(w.dir, h.name) }

// newHost makes the home of a host, without its worker.
func (w *serverAndHosts) newHost(h host) {
	w.t.Helper()
	dir := w.hostDir(h)
	expand := func(text string) string { return strings.ReplaceAll(text, "@DIR@", dir) }
	for _, sub := range []string{"repos", "origins", "state", "bin"} {
		w.check(os.MkdirAll(filepath.Join(dir, sub), 0o700))
	}
	w.write(filepath.Join(dir, ".gitconfig"), "[user]\n\tname = Mara\n\temail = mara@kestrel.example\n"+expand(h.user))
	for name, text := range h.files {
		w.check(os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700))
		w.check(os.WriteFile(filepath.Join(dir, name), []byte(expand(text)), 0o700))
	}
	for _, name := range tools {
		path, err := exec.LookPath(name)
		w.check(err)
		w.check(os.Symlink(path, filepath.Join(dir, "bin", name)))
	}
	w.wrapGit(h)
}

// wrapGit makes the host's git, where its machine has settings or is slow.
func (w *serverAndHosts) wrapGit(h host) {
	w.t.Helper()
	dir := w.hostDir(h)
	script := "#!/bin/sh\n"
	if h.system != "" {
		w.write(filepath.Join(dir, "gitconfig"), strings.ReplaceAll(h.system, "@DIR@", dir))
		script += "[ -n \"${GIT_CONFIG_SYSTEM+x}${GIT_CONFIG_NOSYSTEM+x}\" ] || export GIT_CONFIG_SYSTEM=" + dir + "/gitconfig\n"
	}
	if h.pause != "" {
		script += "case \" $* \" in *' add '*|*' commit-tree '*|*' update-ref '*|*' write-tree '*|*' fetch '*|*' push '*|*' read-tree '*) sleep " + h.pause + ";; esac\n"
	}
	git, err := exec.LookPath("git")
	w.check(err)
	path := filepath.Join(dir, "bin", "git")
	w.check(os.Remove(path))
	w.check(os.WriteFile(path, fmt.Appendf(nil, "%sexec %s \"$@\"\n", script, git), 0o700))
}

func (w *serverAndHosts) write(path, text string) {
	w.t.Helper()
	w.check(os.WriteFile(path, []byte(text), 0o600))
}

func (w *serverAndHosts) check(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// startWorker starts the worker of a host.
func (w *serverAndHosts) startWorker(h host) *processtest.Process {
	w.t.Helper()
	dir := w.hostDir(h)
	p := &processtest.Process{T: w.t, Path: fleetBinary, Args: append([]string{"worker", "--repos", filepath.Join(dir, "repos"), "--engine", "scripted",
		"--name", h.name, "--factory", h.name, "--state", filepath.Join(dir, "state"), "--lease", "30s", "--heartbeat", "1s"}, h.flags...),
		Env: []string{"FLEETBOARD_URL=" + w.url(), "FLEETBOARD_ENROLMENT_TOKEN=" + w.token("enrolment-token"), "HOME=" + dir,
			"PATH=" + filepath.Join(dir, "bin")}}
	p.Start()
	return p
}

// submit submits a job for a repository whose agent runs a script of the shell, and returns
// its key.
func (w *serverAndHosts) submit(t *testing.T, repo, script string, more func(*api.NewJob, map[string]any)) string {
	t.Helper()
	in := map[string]any{"script": map[string]any{"steps": []map[string]any{{"run": script}}}}
	j := api.NewJob{Title: "Work in " + repo, Repo: &repo, MaxRetries: new(0)}
	if more != nil {
		more(&j, in)
	}
	raw, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	j.InputContext = raw
	answer, err := w.person.CreateJobWithResponse(t.Context(), nil, j)
	if err != nil {
		t.Fatal(err)
	}
	return answer.JSON201.Key
}

// cloneFailed is the kind of failure where a host cannot read a repository.
const cloneFailed = "clone_failed"

// untilGivenBack waits until a host has given a job back because it cannot read its repository,
// and cancels the job, which would be tried again and again.
func (w *serverAndHosts) untilGivenBack(t *testing.T, key string) (j *api.Job) {
	t.Helper()
	until(t, key+" is given back", func() bool {
		answer, err := w.person.GetJobWithResponse(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		j = answer.JSON200
		// It waits for seconds, and is ready then; nobody offers its repository.
		return (j.Status == api.JobStatusWaiting || j.Status == api.JobStatusReady) && string(j.FailureKind) == cloneFailed
	})
	if j.FailureCount+j.LostCount != 0 {
		t.Errorf("it counts %d failures and %d losses", j.FailureCount, j.LostCount)
	}
	if _, err := w.person.CancelJobWithResponse(t.Context(), key, api.ReasonedAction{Reason: "Seen."}); err != nil {
		t.Error(err)
	}
	return j
}

// untilEnded waits until a job is in a status that its worker does not change.
func (w *serverAndHosts) untilEnded(t *testing.T, key string) (j *api.Job) {
	t.Helper()
	until(t, key+" has ended", func() bool {
		answer, err := w.person.GetJobWithResponse(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		j = answer.JSON200
		return j.Status == api.JobStatusCompleted || j.Status == api.JobStatusFailed || j.Status == api.JobStatusBlocked
	})
	return j
}

// logOf returns the log of a job.
func (w *serverAndHosts) logOf(t *testing.T, key string) string {
	t.Helper()
	answer, err := w.person.ListJobLogsWithResponse(context.Background(), key, nil)
	if err != nil {
		t.Fatal(err)
	}
	return string(answer.Body)
}

// until waits until something is so.
func until(t *testing.T, what string, so func() bool) {
	t.Helper()
	processtest.Until(t, patience, what, so)
}
