package e2e

import (
	"regexp"
	"strings"
	"testing"

	"github.com/fleetboard/fleetboard/api"
	"github.com/fleetboard/fleetboard/db/dbtest"
)

var keyInURL = regexp.MustCompile(`/jobs/([A-Z]+-\d+)`)

// The main job, end to end: an owner submits in the browser, an agent does the
// work on a real repository, the board shows ready, running and done without a
// reload, the job page shows the commit. The repository's own hook holds the
// work in the middle until the board was seen.
func TestFromTheFormToTheCommit(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	repo := repository(t)
	gate := t.TempDir() + "/go"
	holdCommits(t, repo, gate)
	// The form offers only what live factories hold.
	s.agent("claude-0", func(r *api.Registration) {
		r.Factory = api.FactoryInfo{Name: "linux-2", Repos: &[]api.Repo{{Name: "ledger-api"}}}
	})
	watcher := s.visit(desktop)
	watcher.logIn()
	watcher.live()

	v := s.visit(desktop)
	v.logIn()
	v.open("/jobs/new")
	v.fill("#title", "Add a line to the notes")
	v.must("choose the repo", selectOption(v, "#repo", "ledger-api"))
	v.sees("text=1 of 1 factory can run this")
	v.fill("#body", "Append **one** line.")
	v.click("button[type=submit]:has-text('Create job')")
	v.must("reach the job", v.tab.WaitForURL(keyInURL))
	key := keyInURL.FindStringSubmatch(v.tab.URL())[1]
	watcher.sees(card(key, "ready"))
	watcher.must("mark the page", mark(watcher))

	agent := runAgent(t, s, repo, "claude-1")
	watcher.sees(card(key, "running"))
	v.sees("text=on branch fleet/" + key)
	touch(t, gate)
	watcher.sees(card(key, "done"))
	agent.wait()
	if !marked(watcher) {
		t.Error("the board was loaded again")
	}
	commit := git(t, repo, "rev-parse", "fleet/"+key)
	v.sees("text=" + commit[:7])
	if subject := git(t, repo, "log", "-1", "--format=%s", "fleet/"+key); !strings.Contains(subject, key) {
		t.Errorf("the commit says %q; want its job", subject)
	}
	job := s.job(key)
	if job.Status != "completed" || job.Attempts != 1 || !strings.Contains(string(job.Result), commit) {
		t.Errorf("%s is %s after %d attempts with %s", key, job.Status, job.Attempts, job.Result)
	}
}

// The columns of one card as the watcher sees them come and go, driven step by
// step: nothing is faster than the page.
func TestTheBoardFollowsAJobWithoutReload(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	v := s.visit(desktop)
	v.logIn()
	agent := s.agent("claude-1")
	v.open("/board")
	v.live()
	v.must("mark the page", mark(v))
	s.submit("Fix the reaper")
	v.sees(card("FB-1", "ready"))
	claim(t, agent)
	v.sees(card("FB-1", "running"))
	progress(t, agent, "FB-1", 62, "Reaper tests, 200 runs")
	v.sees(card("FB-1", "running") + ":has-text('62%')")
	v.sees(card("FB-1", "running") + ":has-text('Reaper tests, 200 runs')")
	complete(t, agent, "FB-1")
	v.sees(card("FB-1", "done"))
	if !marked(v) {
		t.Error("the page was loaded again")
	}
}

// What is submitted on one server wakes a claim and moves a card on another.
func TestTwoServersShareOneBoard(t *testing.T) {
	t.Parallel()
	url, dir := dbtest.URL(t), t.TempDir()
	one := startOn(t, url, dir)
	two := startOn(t, url, dir)
	agent := two.agent("claude-1")
	v := two.visit(desktop)
	v.logIn()
	v.live()
	taken := make(chan string, 1)
	go func() { taken <- longPoll(t, agent) }()
	one.submit("Submitted on the first")
	if key := <-taken; key != "FB-1" {
		t.Errorf("the long poll got %q", key)
	}
	v.sees(card("FB-1", "running"))
}

// A first start on an empty directory with an embedded database; the server is
// killed in the middle of a job, started again, and the job ends exactly once.
func TestAKilledServerLosesNothing(t *testing.T) {
	t.Parallel()
	s := start(t, openDir(t))
	if s.setup == "" {
		t.Error("the first start printed no set-up link")
	}
	repo := repository(t)
	gate := t.TempDir() + "/go"
	submitCommand(t, s, "Wait for the word", "while [ ! -e "+gate+" ]; do sleep 0.1; done; echo done >> notes.txt")
	agent := runAgent(t, s, repo, "claude-1")
	eventually(t, "the job running", func() bool { return s.job("FB-1").Status == "running" })
	address := s.url
	s.kill()
	touch(t, gate)
	s.restartAt(address)
	agent.wait()
	job := s.job("FB-1")
	if job.Status != "completed" || job.Attempts != 1 {
		t.Errorf("FB-1 is %s after %d attempts", job.Status, job.Attempts)
	}
	if text := git(t, repo, "show", "fleet/FB-1:notes.txt"); text != "done" {
		t.Errorf("the commit holds %q", text)
	}
}
