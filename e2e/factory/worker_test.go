package factory

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/fleetboard/fleetboard/api"
)

// A job goes from the board through a worker to a branch at the origin.
func TestAJobIsDone(t *testing.T) {
	t.Parallel()
	s := newServerAndRepos(t)
	s.worker("desk", "--check", "grep -q hello greeting.txt")
	key := s.submit(step{"step": "writes the file", "run": "echo hello > greeting.txt", "log": "it will say hello",
		"usage": step{"provider": "anthropic", "model": "claude-sonnet-4-5", "input_tokens": 1000, "output_tokens": 100}})
	j := s.untilStatus(key, api.JobStatusCompleted)
	branch := s.branch(key, 1)
	s.until("the branch is pushed", func() bool { return slices.Contains(s.branches(s.origin("ledger")), branch) })
	if got := s.git(s.origin("ledger"), "show", branch+":greeting.txt"); got != "hello" {
		t.Errorf("the file says %q", got)
	}
	if !slices.Equal(j.FilesTouched, []string{"greeting.txt"}) || !strings.Contains(string(j.Result), "+hello") {
		t.Errorf("files %v, result %s", j.FilesTouched, j.Result)
	}
	if j.Usage == nil || j.Usage.InputTokens != 1000 || j.Usage.OutputTokens != 100 {
		t.Errorf("the usage is %+v", j.Usage)
	}
	logs, err := s.person.ListJobLogsWithResponse(t.Context(), key, nil)
	if err != nil || !strings.Contains(string(logs.Body), "it will say hello") {
		t.Errorf("the log is %s, %v", logs.Body, err)
	}
	if did := s.transcript(key, 1); !strings.Contains(did, "tool sh: ") || !strings.Contains(did, "greeting.txt") || !strings.Contains(did, "it will say hello") {
		t.Errorf("the transcript is\n%s", did)
	}
	s.until("the worktree is gone", func() bool { return len(s.worktrees("desk")) == 0 })
}

// transcript returns what the agent of an attempt did, a step a line; the numbers have no gaps.
func (s *serverAndRepos) transcript(key string, epoch int64) string {
	s.t.Helper()
	var all strings.Builder
	var after int64
	for {
		answer, err := s.person.ListStepsWithResponse(s.t.Context(), key, epoch, &api.ListStepsParams{After: &after})
		if err != nil {
			s.t.Fatal(err)
		}
		for i, one := range answer.JSON200.Items {
			if want := after + int64(i) + 1; one.N != want {
				s.t.Errorf("step %d stands where %d is to be", one.N, want)
			}
			tool := ""
			if one.Tool != nil {
				tool = " " + *one.Tool
			}
			text := ""
			if one.Text != nil {
				text = "\n" + *one.Text
			}
			fmt.Fprintf(&all, "%s%s: %s%s\n", one.Kind, tool, one.Title, text)
		}
		if after = answer.JSON200.NextAfter; !answer.JSON200.More {
			return all.String()
		}
	}
}

// A worker with one seat does one job after another, and is given each with the end of the
// one before.
func TestTheEndOfAJobBringsTheNext(t *testing.T) {
	t.Parallel()
	s := newServerAndRepos(t)
	var keys []string
	for range 3 {
		keys = append(keys, s.submit(step{"run": "echo hello > greeting.txt"}))
	}
	s.worker("desk", "--seats", "1")
	for _, key := range keys {
		s.untilStatus(key, api.JobStatusCompleted)
	}
	s.until("the branches are pushed", func() bool { return len(s.branches(s.origin("ledger"))) == 1+len(keys) })
}

// A check that does not pass sends the job back, with what it printed.
func TestAFailedCheckFailsTheJob(t *testing.T) {
	t.Parallel()
	s := newServerAndRepos(t)
	s.worker("desk", "--check", "echo 3 tests fail; false")
	key := s.submitAs(api.NewJob{Title: "Break it", Repo: new("ledger"), MaxRetries: new(0)}, step{"run": "echo broken > a.txt"})
	j := s.untilStatus(key, api.JobStatusFailed)
	if j.FailureKind != "checks_failed" || !strings.Contains(j.LastError, "3 tests fail") {
		t.Errorf("it failed with %s: %s", j.FailureKind, j.LastError)
	}
}

// The agent asks, a person answers, and the session goes on in the same place.
func TestAQuestionIsAnsweredAndTheWorkGoesOn(t *testing.T) {
	t.Parallel()
	s := newServerAndRepos(t)
	s.worker("desk")
	key := s.submit(
		step{"run": "pwd > place.txt; echo one > work.txt"},
		step{"ask": "Shall I go on?"},
		step{"run": "echo two >> work.txt; test \"$(pwd)\" = \"$(cat place.txt)\""},
	)
	j := s.untilStatus(key, api.JobStatusBlocked)
	if j.Question != "Shall I go on?" {
		t.Fatalf("it asks %q", j.Question)
	}
	if _, err := s.person.AnswerJobWithResponse(t.Context(), key, api.AnswerAction{Answer: "Yes."}); err != nil {
		t.Fatal(err)
	}
	s.untilStatus(key, api.JobStatusCompleted)
	s.until("the branch is pushed", func() bool { return slices.Contains(s.branches(s.origin("ledger")), s.branch(key, 2)) })
	if got := s.git(s.origin("ledger"), "show", s.branch(key, 2)+":work.txt"); got != "one\ntwo" {
		t.Errorf("the file says %q", got)
	}
}

// A worker that is killed goes on with its attempt: under the same lease, with the files
// that were there, once.
func TestAKilledWorkerGoesOn(t *testing.T) {
	t.Parallel()
	s := newServerAndRepos(t)
	w := s.worker("desk")
	flag := filepath.Join(s.dir, "go")
	key := s.submit(
		step{"run": "echo begun >> work.txt; touch " + filepath.Join(s.dir, "begun")},
		step{"run": "until test -e " + flag + "; do sleep 0.1; done"},
	)
	s.untilFile("begun")
	s.until("the server has its steps", func() bool { return strings.Contains(s.transcript(key, 1), "echo begun") })
	w.Kill()
	if err := os.WriteFile(flag, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	w.Start()
	j := s.untilStatus(key, api.JobStatusCompleted)
	if j.Attempts != 1 || j.LostCount != 0 {
		t.Errorf("it took %d attempts, %d were lost", j.Attempts, j.LostCount)
	}
	if did := s.transcript(key, 1); strings.Count(did, "tool sh: echo begun") != 2 {
		t.Errorf("what it did before it was killed and after, is\n%s", did)
	}
	if got := s.git(s.mirror("desk", "ledger"), "show", s.branch(key, 1)+":work.txt"); !strings.HasPrefix(got, "begun") {
		t.Errorf("the file says %q", got)
	}
}

// What was done while the server was away arrives afterwards, once.
func TestACompletionOutlivesAnOutage(t *testing.T) {
	t.Parallel()
	s := newServerAndRepos(t)
	w := s.worker("desk")
	flag := filepath.Join(s.dir, "go")
	key := s.submit(
		step{"run": "touch " + filepath.Join(s.dir, "begun") + "; until test -e " + flag + "; do sleep 0.1; done; echo done > work.txt"},
	)
	s.untilFile("begun")
	s.server.Kill()
	if err := os.WriteFile(flag, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s.until("the report is written down", func() bool {
		files, _ := filepath.Glob(filepath.Join(s.state("desk"), "outbox", "*.json"))
		return len(files) == 1
	})
	w.Kill() // the worker's host loses its power as well
	s.startServer()
	w.Start()
	j := s.untilStatus(key, api.JobStatusCompleted)
	if n := count(s.events(key), "job.completed"); n != 1 || j.Attempts != 1 {
		t.Errorf("it was completed %d times in %d attempts", n, j.Attempts)
	}
	s.until("the branch is pushed", func() bool { return slices.Contains(s.branches(s.origin("ledger")), s.branch(key, 1)) })
}

func count(list []string, one string) (n int) {
	for _, s := range list {
		if s == one {
			n++
		}
	}
	return n
}

// A worker that is stopped for longer than its lease finds that another one has the job:
// it pushes nothing, and its work is in quarantine.
func TestAFencedAttemptPushesNothing(t *testing.T) {
	t.Parallel()
	s := newServerAndRepos(t)
	first := s.worker("desk")
	flag := filepath.Join(s.dir, "go")
	key := s.submit(
		step{
			"run": "echo $FLEETBOARD_EPOCH > work.txt; touch " + filepath.Join(
				s.dir,
				"begun",
			) + "-$FLEETBOARD_EPOCH; until test -e " + flag + "; do sleep 0.1; done",
		},
	)
	s.untilFile("begun-1")
	first.Signal(syscall.SIGSTOP)
	s.worker("basalt")
	s.untilFile("begun-2")
	if err := os.WriteFile(flag, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s.untilStatus(key, api.JobStatusCompleted)
	first.Signal(syscall.SIGCONT)
	s.until(
		"its work is in quarantine",
		func() bool { return slices.Contains(s.branches(s.mirror("desk", "ledger")), s.quarantined(key, 1)) },
	)
	if got := s.branches(s.origin("ledger")); slices.Contains(got, s.branch(key, 1)) || !slices.Contains(got, s.branch(key, 2)) {
		t.Errorf("pushed were %v", got)
	}
}

// A cancelled job's agent is ended with all that it has started.
func TestACancelEndsTheWholeGroup(t *testing.T) {
	t.Parallel()
	s := newServerAndRepos(t)
	s.worker("desk")
	mark := filepath.Join(s.dir, "pids")
	key := s.submit(
		step{
			"run": "echo half > work.txt; (trap '' TERM; setsid sleep 1000 & echo $! > " + mark + "; wait) & touch " + filepath.Join(
				s.dir,
				"begun",
			) + "; wait",
		},
	)
	s.untilFile("begun")
	if _, err := s.person.CancelJobWithResponse(t.Context(), key, api.ReasonedAction{Reason: "Not needed."}); err != nil {
		t.Fatal(err)
	}
	s.untilStatus(key, api.JobStatusAborted)
	pid, err := os.ReadFile(mark)
	if err != nil {
		t.Fatal(err)
	}
	s.until("the sleeper is gone", func() bool { _, err := os.Stat("/proc/" + strings.TrimSpace(string(pid))); return err != nil })
	if got := s.git(s.mirror("desk", "ledger"), "show", s.branch(key, 1)+":work.txt"); got != "half" {
		t.Errorf("the work in progress says %q", got)
	}
}

// SIGTERM lets the attempt end; the second one saves it and gives the job back.
func TestAWorkerDrains(t *testing.T) {
	t.Parallel()
	s := newServerAndRepos(t)
	w := s.worker("desk")
	flag := filepath.Join(s.dir, "go")
	wait := "; until test -e " + flag + "; do sleep 0.1; done"
	first := s.submit(step{"run": "echo one > work.txt; touch " + filepath.Join(s.dir, "begun") + wait})
	s.untilFile("begun")
	second := s.submit(step{"run": "true"})
	w.Signal(syscall.SIGTERM)
	s.until("it claims nothing more", func() bool { return strings.Contains(w.Output(), "claims nothing more") })
	if err := os.WriteFile(flag, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	w.AwaitEnd(patience)
	if a, b := s.job(first).Status, s.job(second).Status; a != api.JobStatusCompleted || b != api.JobStatusReady {
		t.Errorf("they are %s and %s", a, b)
	}
	w.Start()
	s.untilStatus(second, api.JobStatusCompleted)

	third := s.submit(step{"run": "echo three > work.txt; touch " + filepath.Join(s.dir, "again")}, step{"run": "sleep 1000"})
	s.untilFile("again")
	w.Signal(syscall.SIGTERM)
	s.until("it heard", func() bool { return strings.Count(w.Output(), "claims nothing more") == 2 })
	w.Signal(syscall.SIGTERM)
	w.AwaitEnd(patience)
	j := s.job(third)
	if j.Status != api.JobStatusReady || !strings.Contains(string(j.Checkpoint), s.branch(third, 1)) {
		t.Errorf("it is %s with the checkpoint %s", j.Status, j.Checkpoint)
	}
	if got := s.git(s.mirror("desk", "ledger"), "show", s.branch(third, 1)+":work.txt"); got != "three" {
		t.Errorf("the work in progress says %q", got)
	}
}

// A repository of a product that the worker can clone is offered, and cloned when a job
// needs it.
func TestARepositoryIsClonedOnDemand(t *testing.T) {
	t.Parallel()
	s := newServerAndRepos(t)
	s.repository("atlas")
	if _, err := s.person.PutProductWithResponse(t.Context(), "maps", api.ProductSettings{Repos: &[]string{"atlas", "nowhere"}}); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(s.clone("atlas")); err != nil {
		t.Fatal(err)
	}
	s.worker("desk", "--clone", "file://"+filepath.Join(s.dir, "origins")+"/*.git")
	key := s.submitAs(api.NewJob{Title: "Draw a map", Repo: new("atlas")}, step{"run": "echo map > map.txt"})
	s.untilStatus(key, api.JobStatusCompleted)
	s.until("the branch is pushed", func() bool { return slices.Contains(s.branches(s.origin("atlas")), s.branch(key, 1)) })
	answer, err := s.person.GetFactoryWithResponse(t.Context(), "desk")
	if err != nil || strings.Contains(string(answer.Body), "nowhere") {
		t.Errorf("it offers what it cannot reach: %s, %v", answer.Body, err)
	}
}

// An agent that a person has ended stays ended until it is started again.
func TestAnEndedWorkerIsStartedAgain(t *testing.T) {
	t.Parallel()
	s := newServerAndRepos(t)
	w := s.worker("desk")
	s.until("it is registered", func() bool { return strings.Contains(w.Output(), "registered") })
	if _, err := s.person.TerminateAgentWithResponse(t.Context(), "desk", api.TerminateRequest{Reason: "The host is to be cleaned."}); err != nil {
		t.Fatal(err)
	}
	key := s.submit(step{"run": "echo one > one.txt"})
	w.Kill()
	w.Start()
	w.AwaitEnd(patience) // under the boot that was ended
	if !strings.Contains(w.Output(), "fleet: ") || s.job(key).Status != api.JobStatusReady {
		t.Errorf("it goes on: %s", s.job(key).Status)
	}
	w.Start()
	s.untilStatus(key, api.JobStatusCompleted)
}

// A worker with a role that its enrolment token does not allow ends, and says what is allowed.
func TestARefusedRoleEndsTheWorker(t *testing.T) {
	t.Parallel()
	s := newServerAndRepos(t)
	s.query("WITH named AS (UPDATE access_token SET roles = '{worker,reviewer}' WHERE kind = 'enrolment' RETURNING 1) SELECT count(*) FROM named")
	w := s.worker("desk", "--role", "worker", "--role", "orchestrator")
	w.AwaitEnd(patience)
	const want = "This enrolment token does not allow the role orchestrator; it allows worker, reviewer."
	if code := w.ExitCode(); code == 0 || !strings.Contains(w.Output(), want) {
		t.Errorf("it ended with %d and said %s", code, w.Output())
	}
}
