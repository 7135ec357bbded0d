package cli_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fleetboard/fleetboard/api"
)

// create makes a job and returns its key.
func (w *serverAndTerminal) create(title string, flags ...string) string {
	w.t.Helper()
	var job api.Job
	w.fleet(append([]string{"job", "create", title, "--json"}, flags...)...).into(&job)
	return job.Key
}

func (w *serverAndTerminal) job(key string) (job api.Job) {
	w.t.Helper()
	w.fleet("job", "show", key, "--json").into(&job)
	return job
}

// TestAJobByHand goes through a job's life from the command line, each step by a process
// of its own: the agent and its lease are found again by the later ones.
func TestAJobByHand(t *testing.T) {
	t.Parallel()
	w := newServerAndTerminal(t)
	key := w.create("Mend the scale", "--repo", "ledger-api", "--priority", "8", "--needs", "node:20", "--input", "limit=3", "--acceptance", "it weighs")
	if said := w.fleet("job", "claim").ends(7).err; !strings.Contains(said, "no job is ready that this agent can run") {
		t.Errorf("a claim that cannot run it said %q", said)
	}
	if said := w.fleet("job", "claim", "--json").ends(7).out; said != "null\n" {
		t.Errorf("with --json it printed %q", said)
	}
	if said := w.fleet("job", "explain", key).ok(); !strings.Contains(said, "lacks") {
		t.Errorf("explain said %q", said)
	}
	if said := w.fleet("job", "claim", "--repo", "ledger-api", "--offer", "node:20").ok(); !strings.Contains(said, key+" is yours") {
		t.Errorf("claim said %q", said)
	}
	if said := w.fleet("job", "progress", key, "--percent", "40", "--step", "tests").ok(); !strings.HasPrefix(said, "continue") {
		t.Errorf("progress said %q", said)
	}
	w.fleet("job", "renew", key, "--ttl", "3600").ok()
	if job := w.job(key); job.ProgressPercent == nil || *job.ProgressPercent != 40 || job.Lease.TTLSeconds != 3600 {
		t.Errorf("after the report it is %+v", job)
	}
	if said := w.fleet("job", "complete", key, "--commit", "abc123", "--summary", "It weighs.").ok(); !strings.Contains(said, "is completed") {
		t.Errorf("complete said %q", said)
	}
	// The lease is forgotten: the same again is a person's decision, which needs a reason.
	w.fleet("job", "complete", key).ends(2)
	w.fleet("job", "complete", key, "--reason", "again").ends(3)
	w.fleet("job", "progress", key, "--percent", "50").ends(3)
	if said := w.fleet("job", "stats").ok(); !strings.Contains(said, "completed") {
		t.Errorf("stats said %q", said)
	}
}

// TestLeasesAreKeptForTheirOwner: what commands remember is for one account alone.
func TestLeasesAreKeptForTheirOwner(t *testing.T) {
	t.Parallel()
	w := newServerAndTerminal(t)
	key := w.create("One")
	w.fleet("job", "claim").ok()
	files, _ := filepath.Glob(filepath.Join(w.home, "state", "fleet", "agents", "*.json"))
	if len(files) != 1 {
		t.Fatalf("kept files: %v", files)
	}
	if info, err := os.Stat(files[0]); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the agent's file: %v %v", info.Mode(), err)
	}
	// A token that has ended is renewed under the same boot, and the lease stays.
	w.now = time.Now().Add(2 * time.Hour)
	w.fleet("job", "progress", key, "--percent", "10").ok()
	w.now = time.Time{}
	delete(w.env, "FLEETBOARD_ENROLMENT_TOKEN")
	w.fleet("job", "claim").ends(5)
	w.fleet("job", "release", key, "--reason", "not today").ok()
	if job := w.job(key); job.Lease != nil || job.Status != api.JobStatusReady {
		t.Errorf("after the release it is %s", job.Status)
	}
}

// TestQuestionsAndFailures are said with the lease, and answered by people.
func TestQuestionsAndFailures(t *testing.T) {
	t.Parallel()
	w := newServerAndTerminal(t)
	key := w.create("Choose a colour")
	w.fleet("job", "claim").ok()
	w.fleet("job", "ask", key, "Red or green?").ok()
	if listed := w.fleet("job", "list").ok(); !strings.Contains(listed, "asks a question") {
		t.Errorf("list said %q", listed)
	}
	w.fleetIn("green", "job", "answer", key, "-").ok()
	if said := w.fleet("job", "claim", key).ok(); !strings.Contains(said, "Red or green?") || !strings.Contains(said, "green") {
		t.Errorf("the next claim said %q", said)
	}
	w.fleet("job", "fail", key, "--error", "no paint", "--kind", "other").ok()
	if said := w.fleet("job", "show", key).ok(); !strings.Contains(said, "no paint") || !strings.Contains(said, "failed (other)") {
		t.Errorf("show said %q", said)
	}
	w.fleet("job", "retry", key).ok()
}

// TestDecisions does each decision with several jobs; one that is refused does not stop
// the rest.
func TestDecisions(t *testing.T) {
	t.Parallel()
	w := newServerAndTerminal(t)
	one, two := w.create("One"), w.create("Two")
	w.fleet("job", "block", one).ends(2)
	w.fleet("job", "block", one, two, "-m", "waits for paint").ok()
	w.fleet("job", "unblock", one).ok()
	said := w.fleet("job", "unblock", one, two).ends(3)
	if !strings.Contains(said.out, two+" is ready") || !strings.HasPrefix(said.err, "fleet: ") {
		t.Errorf("of two one is refused: %q, %q", said.out, said.err)
	}
	w.fleet("job", "pause", one).ok()
	w.fleet("job", "resume", one, "--if-version", "1").ends(3)
	w.fleet("job", "resume", one).ok()
	w.fleet("job", "link", two, one).ok()
	if job := w.job(two); len(job.DependsOn) != 1 || job.Status != api.JobStatusWaiting {
		t.Errorf("linked: %+v", job.DependsOn)
	}
	w.fleet("job", "link", one, two).ends(3)
	w.fleet("job", "unlink", two, one).ok()
	w.fleet("job", "cancel", one, "-m", "no need").ok()
	w.fleet("job", "archive", one).ok()
	reviewed := w.create("Three", "--review", "--repo", "r")
	for _, verdict := range [][]string{{"reject", "-m", "too red"}, {"approve", "--head", "abc"}} {
		w.fleet("job", "claim", reviewed, "--repo", "r").ok()
		w.fleet("job", "complete", reviewed, "--commit", "abc").ok()
		w.fleet(append([]string{"job", verdict[0], reviewed}, verdict[1:]...)...).ok()
	}
	w.fleet("job", "merge", reviewed, "--commit", "def").ok()
	if job := w.job(reviewed); job.MergedCommit != "def" || job.ApprovedHead != "abc" || job.Status != api.JobStatusCompleted {
		t.Errorf("merged: %s %s %s", job.Status, job.ApprovedHead, job.MergedCommit)
	}
	w.fleet("job", "claim", two).ok()
	w.fleet("job", "reclaim", two).ok()
	if job := w.job(two); job.Lease != nil {
		t.Error("a lease that was taken back is there")
	}
}

// TestExitCodes maps refusals to the codes that scripts rely on.
func TestExitCodes(t *testing.T) {
	t.Parallel()
	w := newServerAndTerminal(t)
	key := w.create("One")
	for _, test := range []struct {
		name string
		code int
		args []string
		env  map[string]string
	}{
		{"done", 0, []string{"job", "show", key}, nil},
		{"no such flag", 2, []string{"job", "list", "--nonsense"}, nil},
		{"no job named", 2, []string{"job", "show"}, nil},
		{"a value that is refused", 2, []string{"job", "create", "Two", "--priority", "11"}, nil},
		{"no title", 2, []string{"job", "create"}, nil},
		{"a status there is none of", 2, []string{"job", "list", "--status", "nonsense"}, nil},
		{"not in review", 3, []string{"job", "approve", key}, nil},
		{"no such job", 4, []string{"job", "show", "FB-999"}, nil},
		{"a token nobody knows", 5, []string{"job", "show", key}, map[string]string{"FLEETBOARD_TOKEN": "fb_person_nonsense"}},
		{"a token that may not", 5, []string{"job", "show", key}, map[string]string{"FLEETBOARD_TOKEN": w.enrolment}},
		{"no token", 5, []string{"job", "show", key}, map[string]string{"FLEETBOARD_TOKEN": ""}},
		{"nobody there", 6, []string{"job", "show", key}, map[string]string{"FLEETBOARD_URL": "http://127.0.0.1:1"}},
		{"nothing to claim", 7, []string{"backlog", "claim", "--owner", "other", "--id", ""}, nil},
	} {
		if test.code == 7 {
			w.fleet("job", "block", key, "-m", "x").ok()
		}
		env := w.env
		w.env = map[string]string{}
		for _, from := range []map[string]string{env, test.env} {
			for name, value := range from {
				w.env[name] = value
			}
		}
		r := w.fleet(test.args...)
		w.env = env
		if r.code != test.code || (r.code != 0) != strings.HasPrefix(r.err, "fleet: ") {
			t.Errorf("%s: ended with %d, want %d: %s", test.name, r.code, test.code, r.err)
		}
	}
	// What the server refuses is named field by field, and with --json it is its own words.
	if said := w.fleet("job", "create", "Two", "--priority", "11").err; !strings.Contains(said, "\n  priority: ") {
		t.Errorf("the refused field: %q", said)
	}
	var problem api.Problem
	if err := json.Unmarshal([]byte(w.fleet("job", "approve", key, "--json").ends(3).err), &problem); err != nil || problem.Code != api.ProblemCodeInvalidTransition {
		t.Errorf("as JSON: %v %+v", err, problem)
	}
}

// TestTheOwnersTokenOfThisMachine: without a log-in the command takes what a server on this
// machine left in its data directory.
func TestTheOwnersTokenOfThisMachine(t *testing.T) {
	t.Parallel()
	w := newServerAndTerminal(t)
	delete(w.env, "FLEETBOARD_TOKEN")
	delete(w.env, "FLEETBOARD_ENROLMENT_TOKEN")
	w.fleet("job", "list").ends(5)
	w.env["FLEETBOARD_DATA_DIR"] = filepath.Join(w.home, "data")
	w.create("One")
	w.fleet("job", "claim").ok()
}

// TestBacklog does what scripts of a backlog do, with its verbs, flags and statuses.
func TestBacklog(t *testing.T) {
	t.Parallel()
	w := newServerAndTerminal(t)
	w.fleet("backlog", "create", "--id", "A1", "--title", "schema", "--priority", "5", "--json").ok()
	w.fleet("backlog", "create", "--id", "A2", "--title", "service", "--depends-on", "A1", "--priority", "9", "--idempotency-key", "k").ok()
	w.fleet("backlog", "create", "--id", "A3", "--title", "page", "--phase", "M1").ok()
	w.fleet("backlog", "link", "--from", "A3", "--to", "A2").ok()
	var claimed api.Claimed
	w.fleet("backlog", "claim", "--owner", "worker-1", "--ttl", "600", "--json").into(&claimed)
	if len(claimed.Jobs) != 1 || claimed.Jobs[0].Key != "A1" || claimed.Jobs[0].Lease.TTLSeconds != 600 || claimed.Jobs[0].Lease.Agent != "worker-1" {
		t.Fatalf("claimed %+v", claimed.Jobs)
	}
	if listed := w.fleet("backlog", "list", "--status", "claimed").ok(); !strings.Contains(listed, "A1") || strings.Contains(listed, "A2") {
		t.Errorf("claimed: %s", listed)
	}
	w.fleet("backlog", "complete", "--id", "A1").ok()
	var ready api.JobPage
	w.fleet("backlog", "list", "--ready-only", "--json").into(&ready)
	if len(ready.Items) != 1 || ready.Items[0].Key != "A2" {
		t.Errorf("ready: %+v", ready.Items)
	}
	w.fleet("backlog", "block", "--id", "A2").ok()
	w.fleet("backlog", "complete", "--id", "A2").ok()
	if done := w.fleet("backlog", "list", "--status", "done").ok(); !strings.Contains(done, "A2") {
		t.Errorf("done: %s", done)
	}
	w.fleet("backlog", "claim", "--owner", "worker-1", "--id", "A3").ok()
	w.fleet("backlog", "reclaim", "--id", "A3", "--json").ok()
	w.fleet("backlog", "stats", "--json").ok()
}
