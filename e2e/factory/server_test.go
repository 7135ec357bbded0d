package factory

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fleetboard/fleetboard/api"
	"github.com/fleetboard/fleetboard/db/dbtest"
	"github.com/fleetboard/fleetboard/e2e/processtest"
	"github.com/fleetboard/fleetboard/e2e/transporttest"
	"github.com/fleetboard/fleetboard/internal/client"
	"github.com/fleetboard/fleetboard/internal/client/worker/repos"
)

// patience is how long a test waits for what must happen; it does not say how fast it is.
const patience = 90 * time.Second

// firstPort is the first port that servers of these tests may get.
const firstPort = 15000

// serverAndRepos is a server, a directory of repositories, and a person who watches.
type serverAndRepos struct {
	t       *testing.T
	dir     string // data, repositories and the states of workers are below it
	address string
	// database is its address, for its owner.
	database string
	server   *processtest.Process
	person   *api.Client
	env      []string // of workers, beside what they need
}

// newServerAndRepos starts a server on a database of its own, and makes a repository "ledger" that
// has an origin. env are settings of the server beside what it needs.
func newServerAndRepos(t *testing.T, env ...string) *serverAndRepos {
	t.Helper()
	s := &serverAndRepos{t: t, dir: t.TempDir(), address: processtest.FreeAddress(t, firstPort), database: dbtest.URL(t)}
	s.server = &processtest.Process{
		T:    t,
		Path: serverBinary,
		Env: append(append(transporttest.Environ(), env...), "DATABASE_URL="+s.database, "FLEETBOARD_DATA_DIR="+filepath.Join(s.dir, "data"),
			"FLEETBOARD_LISTEN="+s.address, "FLEETBOARD_RATE_LIMIT=0", "FLEETBOARD_ADMIN_EMAIL=mara@kestrel.example",
			"FLEETBOARD_ADMIN_PASSWORD=quiet watch room 12", "PATH="+os.Getenv("PATH"), "HOME="+os.Getenv("HOME")),
	}
	s.startServer()
	var err error
	if s.person, err = client.New(s.url(), s.token("owner-token"), api.Options{Retries: 20, LongestPause: time.Second}); err != nil {
		t.Fatal(err)
	}
	s.repository("ledger")
	return s
}

func (s *serverAndRepos) url() string { return "http://" + s.address }

// startServer starts the server, and waits until it is ready.
func (s *serverAndRepos) startServer() {
	s.t.Helper()
	s.server.Start()
	s.until("the server is ready", func() bool { return processtest.IsReady(s.t.Context(), s.address) })
}

// token returns one of those that the first start wrote.
func (s *serverAndRepos) token(name string) string {
	s.t.Helper()
	text, err := os.ReadFile(filepath.Join(s.dir, "data", name))
	if err != nil {
		s.t.Fatal(err)
	}
	return strings.TrimSpace(string(text))
}

// repository makes one with a commit and an origin, among those that workers offer.
func (s *serverAndRepos) repository(name string) string {
	s.t.Helper()
	at, origin := s.clone(name), s.origin(name)
	for _, dir := range []string{at, filepath.Dir(origin)} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			s.t.Fatal(err)
		}
	}
	s.git(at, "init", "-q", "-b", "main")
	if err := os.WriteFile(filepath.Join(at, "README.md"), []byte("# "+name+"\n"), 0o600); err != nil {
		s.t.Fatal(err)
	}
	s.git(at, "add", "-A")
	s.git(at, "commit", "-q", "-m", "Begin")
	s.git(at, "clone", "-q", "--bare", at, origin)
	s.git(at, "remote", "add", "origin", origin)
	return at
}

func (s *serverAndRepos) clone(repo string) string { return filepath.Join(s.dir, "repos", repo) }
func (s *serverAndRepos) origin(repo string) string {
	return filepath.Join(s.dir, "origins", repo+".git")
}

// mirror returns a worker's own repository of one.
func (s *serverAndRepos) mirror(worker, repo string) string {
	s.t.Helper()
	found, _ := filepath.Glob(filepath.Join(s.state(worker), "mirrors", repo+"-*.git"))
	if len(found) != 1 {
		s.t.Fatalf("%s has the mirrors %v", worker, found)
	}
	return found[0]
}

// branch is that of an attempt on a job, and quarantined the one where work goes that lost
// its lease.
func (s *serverAndRepos) branch(key string, epoch int64) string {
	return "fleet/" + s.attempt(key, epoch)
}
func (s *serverAndRepos) quarantined(key string, epoch int64) string {
	return "fleet-quarantine/" + s.attempt(key, epoch)
}

func (s *serverAndRepos) attempt(key string, epoch int64) string {
	return repos.Attempt{Job: key, ID: s.job(key).ID.String(), Epoch: epoch}.Name()
}

// worktrees returns the directories of attempts that a worker has.
func (s *serverAndRepos) worktrees(worker string) []string {
	found, _ := filepath.Glob(filepath.Join(s.state(worker), "worktrees", "*", "*"))
	return slices.DeleteFunc(found, func(path string) bool { return strings.HasSuffix(path, ".lock") })
}

// git runs git as a person would.
func (s *serverAndRepos) git(dir string, args ...string) string {
	s.t.Helper()
	cmd := exec.CommandContext(
		context.Background(),
		"git",
		append([]string{"-c", "user.name=Mara", "-c", "user.email=mara@kestrel.example"}, args...)...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		s.t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// branches returns those of a repository, with what they hold.
func (s *serverAndRepos) branches(dir string) []string {
	s.t.Helper()
	return strings.Fields(s.git(dir, "for-each-ref", "--format=%(refname:short)", "refs/heads"))
}

// worker prepares the fleet command as a factory on the repositories of the server.
func (s *serverAndRepos) worker(name string, flags ...string) *processtest.Process {
	s.t.Helper()
	p := s.program(fleetBinary, append([]string{"worker", "--repos", filepath.Join(s.dir, "repos"), "--engine", "scripted", "--name", name,
		"--factory", name, "--state", s.state(name), "--lease", "10s", "--heartbeat", "1s"}, flags...)...)
	p.Start()
	return p
}

// program prepares one that registers agents.
func (s *serverAndRepos) program(path string, args ...string) *processtest.Process {
	s.t.Helper()
	return &processtest.Process{T: s.t, Path: path, Args: args, Env: append([]string{
		"FLEETBOARD_URL=" + s.url(),
		"FLEETBOARD_ENROLMENT_TOKEN=" + s.token("enrolment-token"),
		"HOME=" + s.dir,
		"PATH=" + os.Getenv("PATH"),
	}, s.env...)}
}

func (s *serverAndRepos) state(worker string) string { return filepath.Join(s.dir, "state", worker) }

// submit submits a job that plays steps, and returns its key.
func (s *serverAndRepos) submit(steps ...step) string {
	s.t.Helper()
	return s.submitAs(api.NewJob{Title: "Play a script", Repo: new("ledger")}, steps...)
}

// step is one of a script, as the scripted engine takes it.
type step map[string]any

func (s *serverAndRepos) submitAs(j api.NewJob, steps ...step) string {
	s.t.Helper()
	raw, err := json.Marshal(map[string]any{"script": map[string]any{"steps": steps}})
	if err != nil {
		s.t.Fatal(err)
	}
	j.InputContext = raw
	answer, err := s.person.CreateJobWithResponse(s.t.Context(), nil, j)
	if err != nil {
		s.t.Fatal(err)
	}
	return answer.JSON201.Key
}

// job returns a job as it is now.
func (s *serverAndRepos) job(key string) *api.Job {
	s.t.Helper()
	answer, err := s.person.GetJobWithResponse(context.Background(), key)
	if err != nil {
		s.t.Fatal(err)
	}
	return answer.JSON200
}

// untilStatus waits until a job is in a status, and returns it.
func (s *serverAndRepos) untilStatus(key string, want api.JobStatus) (j *api.Job) {
	s.t.Helper()
	defer func() {
		if s.t.Failed() {
			s.t.Logf("%s is %s: %s %s", key, j.Status, j.CurrentStep, j.LastError)
		}
	}()
	s.until(fmt.Sprintf("%s is %s", key, want), func() bool { j = s.job(key); return j.Status == want })
	return j
}

// untilFile waits until a script has written a file in the directory of the test.
func (s *serverAndRepos) untilFile(name string) {
	s.t.Helper()
	s.until(name+" is there", func() bool { _, err := os.Stat(filepath.Join(s.dir, name)); return err == nil })
}

// until waits until something is so.
func (s *serverAndRepos) until(what string, so func() bool) {
	s.t.Helper()
	processtest.Until(s.t, patience, what, so)
}

// events returns the types of what happened to a job, the oldest first.
func (s *serverAndRepos) events(key string) []string {
	s.t.Helper()
	answer, err := s.person.ListJobEventsWithResponse(context.Background(), key, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	var types []string
	for _, e := range answer.JSON200.Items {
		types = append(types, e.Type)
	}
	return types
}
