package dispatch_test

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/internal/dispatch/claim"
	"github.com/fleetboard/fleetboard/internal/dispatch/report"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/jobs/joblog"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

const canary = "canary-7f3a"

// secret makes TOKEN a secret input of a new job.
func secret(n *jobs.New) {
	n.InputContext, n.SecretKeys = json.RawMessage(`{"URL":"https://x","TOKEN":"`+canary+`"}`), []string{"TOKEN"}
}

// holds asserts what a claimed job's inputs are.
func (w *testWorkspace) holds(j jobs.Job, want string) {
	w.T.Helper()
	got, err := j.RevealedInput()
	if err != nil || string(got) != want {
		w.T.Errorf("the agent holds %s with %s, %v; want %s", j.Key, got, err, want)
	}
}

// untold asserts that no row of any table contains the canary, as it is or as the
// database shows bytes.
func (w *testWorkspace) untold(when string) {
	w.T.Helper()
	told := dbfactory.Text(w.T, w.DB, `SELECT coalesce(string_agg(relname, ', '), '') FROM pg_class
		WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace AND (xpath('/row/n/text()', query_to_xml(format(
			'SELECT count(*) AS n FROM %I t WHERE t::text ILIKE ''%%' || '`+canary+`' || '%%'' OR t::text ILIKE ''%%' || '`+hex.EncodeToString([]byte(canary))+`' || '%%''',
			relname), false, true, '')))[1]::text <> '0'`)
	if told != "" {
		w.T.Errorf("%s: the secret stands in %s", when, told)
	}
}

const inputs = `{"TOKEN":"` + canary + `","URL":"https://x"}`

// The values of secrets are in the claim's answer, again for the same request,
// and again for the next attempt; nowhere else.
func TestOnlyTheClaimTellsSecrets(t *testing.T) {
	w := newTestWorkspace(t)
	j := w.Job("a", secret)
	agent := w.Agent("claude-1")
	for range 2 { // the same request gives the same lease again
		got, err := w.Dispatch.Claim(w.Ctx, agent, claim.Request{RequestID: "r"})
		if err != nil || len(got.Jobs) != 1 {
			t.Fatalf("%v, %v", got, err)
		}
		w.holds(got.Jobs[0], inputs)
	}
	now := w.Get(j)
	w.holds(now, string(now.InputContext))
	if strings.Contains(fmt.Sprintf("%+v", now), canary) {
		t.Errorf("the job tells it: %+v", now)
	}
	if _, err := w.Dispatch.Fail(w.Ctx, agent, ref(now), report.Failure{Error: "x"}); err != nil {
		t.Fatal(err)
	}
	w.Act(j, jobs.ByRetry)
	held := w.Claim(agent)
	w.holds(held, inputs)
	w.Complete(agent, held)
	w.untold("in the end")
	w.Consistent()
}

// Whatever an agent says of a job, in whatever call, the value of a secret is
// taken out before it is written.
func TestAnAgentsWordsAreRedacted(t *testing.T) {
	said := "it is " + canary + ", " + hex.EncodeToString([]byte(canary))
	const clean = "it is [secret], [secret]"
	tree := json.RawMessage(`{"` + canary + `":["` + canary + `"]}`)
	const cleanTree = `{"[secret]": ["[secret]"]}`
	for what, c := range map[string]struct {
		say  func(*testWorkspace, tenancy.Principal, jobs.Job) error
		look string // the places where it is written, in SQL
		want string
	}{
		"progress": {func(w *testWorkspace, a tenancy.Principal, j jobs.Job) error {
			_, err := w.Dispatch.Progress(w.Ctx, a, ref(j), report.Progress{Step: &said, Checkpoint: tree})
			return err
		}, `SELECT current_step || checkpoint FROM job_lease`, clean + cleanTree},
		"a heartbeat": {func(w *testWorkspace, a tenancy.Principal, j jobs.Job) error {
			_, err := w.Dispatch.Heartbeat(w.Ctx, a, report.Heartbeat{Agent: a.Name, BootID: a.Boot,
				Leases: []report.HeartbeatLease{{Job: j.Key, Epoch: j.Epoch, CurrentStep: &said, Checkpoint: tree}}})
			return err
		}, `SELECT current_step || checkpoint FROM job_lease`, clean + cleanTree},
		"log lines": {func(w *testWorkspace, a tenancy.Principal, j jobs.Job) error {
			_, err := w.Dispatch.WriteLogs(w.Ctx, a, ref(j), []joblog.Line{{Level: joblog.Info, Event: said, Message: said, Details: tree}, {Level: joblog.Debug, Message: "no"}})
			return err
		}, `SELECT string_agg(event || message || details, '' ORDER BY id) FROM job_log`, clean + clean + cleanTree + "no{}"},
		"a failure": {func(w *testWorkspace, a tenancy.Principal, j jobs.Job) error {
			_, err := w.Dispatch.Fail(w.Ctx, a, ref(j), report.Failure{Error: said, Kind: string(jobs.FailedChecks), Stack: said})
			return err
		}, `SELECT j.last_error || a.error || a.error_kind || (e.payload->>'stack') FROM job j, attempt a, event e WHERE e.type = 'job.failed'`,
			clean + clean + string(jobs.FailedChecks) + clean},
		"a failure that is tried again": {func(w *testWorkspace, a tenancy.Principal, j jobs.Job) error {
			_, err := w.Dispatch.Fail(w.Ctx, a, ref(j), report.Failure{Error: said, Stack: said, Retryable: true})
			return err
		}, `SELECT j.last_error || a.error || (e.payload->>'stack') FROM job j, attempt a, event e WHERE e.type = 'job.attempt_failed'`, clean + clean + clean},
		"a release": {func(w *testWorkspace, a tenancy.Principal, j jobs.Job) error {
			_, err := w.Dispatch.Release(w.Ctx, a, ref(j), report.Release{Reason: said, Checkpoint: tree})
			return err
		}, `SELECT a.error || a.checkpoint || j.checkpoint FROM attempt a, job j`, clean + cleanTree + cleanTree},
		"a question": {func(w *testWorkspace, a tenancy.Principal, j jobs.Job) error {
			_, err := w.Dispatch.Ask(w.Ctx, a, ref(j), report.Question{Text: said, Checkpoint: tree})
			return err
		}, `SELECT j.question || j.checkpoint FROM job j`, clean + cleanTree},
		"a result": {func(w *testWorkspace, a tenancy.Principal, j jobs.Job) error {
			done := report.Completion{Result: json.RawMessage(`{"t":` + string(tree) + `}`), Summary: said, Commit: canary, Branch: "b/" + canary, URL: "https://x/" + canary}
			first, err := w.Dispatch.Complete(w.Ctx, a, ref(j), done)
			if err != nil {
				return err
			}
			again, err := w.Dispatch.Complete(w.Ctx, a, ref(j), done)
			if again.Version != first.Version {
				w.T.Errorf("the same completion again made version %d of %d", again.Version, first.Version)
			}
			return err
		}, `SELECT (result->>'summary') || (result->'t') || (result->>'commit') || (result->>'branch') || (result->>'url') FROM job`,
			clean + cleanTree + "[secret]b/[secret]https://x/[secret]"},
	} {
		t.Run(what, func(t *testing.T) {
			w := newTestWorkspace(t)
			w.Job("a", secret)
			agent := w.Agent("claude-1")
			held := w.Claim(agent)
			if err := c.say(w, agent, held); err != nil {
				t.Fatal(err)
			}
			if got := dbfactory.Text(t, w.DB, c.look); got != c.want {
				t.Errorf("written is %s\nwant %s", got, c.want)
			}
			w.untold(what)
			w.Consistent()
		})
	}
}

// A placeholder can be longer than the value: a text that filled its place still
// fits.
func TestARedactedTextFits(t *testing.T) {
	w := newTestWorkspace(t)
	w.Job("a", func(n *jobs.New) { n.InputContext, n.SecretKeys = json.RawMessage(`{"PIN":"1234"}`), []string{"PIN"} })
	agent := w.Agent("claude-1")
	held := w.Claim(agent)
	full := func(n int) string { return strings.Repeat("1234", n/4) }
	step := full(200)
	if _, err := w.Dispatch.Progress(w.Ctx, agent, ref(held), report.Progress{Step: &step}); err != nil {
		t.Error(err)
	}
	if _, err := w.Dispatch.WriteLogs(w.Ctx, agent, ref(held), []joblog.Line{{Level: joblog.Info, Event: full(64), Message: full(10_000)}}); err != nil {
		t.Error(err)
	}
	if _, err := w.Dispatch.Ask(w.Ctx, agent, ref(held), report.Question{Text: full(10_000)}); err != nil {
		t.Error(err)
	}
	if got := dbfactory.Text(t, w.DB, `SELECT char_length(question) || ' ' || left(question, 20) FROM job`); got != "10000 [secret][secret][sec" {
		t.Errorf("the question is %s", got)
	}
}

// A job whose secrets were damaged fails when it is claimed, and says why; those
// behind it are given.
func TestAJobWithDamagedSecretsFails(t *testing.T) {
	w := newTestWorkspace(t)
	bad, good := w.Job("bad", secret, priority(9)), w.Job("good", secret)
	dbfactory.Exec(t, w.DB, `UPDATE job_secret SET sealed = set_byte(sealed, 30, get_byte(sealed, 30) # 1) WHERE job_id = $1`, bad.ID)
	held := w.Claim(w.Agent("claude-1"))
	if held.Key != good.Key {
		t.Errorf("given was %s", held.Key)
	}
	w.holds(held, inputs)
	failed := w.Want(bad, jobs.Failed)
	if !strings.Contains(failed.LastError, "secrets cannot be read") || failed.Lease != nil {
		t.Errorf("it says %q, lease %v", failed.LastError, failed.Lease)
	}
	w.Consistent()
	// The same where it is claimed by its key.
	dbfactory.Exec(t, w.DB, `UPDATE job_secret SET sealed = substr(sealed, 1, 10)`)
	third := w.Job("third", secret)
	dbfactory.Exec(t, w.DB, `UPDATE job_secret SET sealed = substr(sealed, 1, 10)`)
	if _, err := w.Dispatch.Claim(w.Ctx, w.Agent("claude-2"), claim.Request{Job: third.Key}); !fault.Is(err, fault.NotClaimable) {
		t.Errorf("claimed by its key: %v", err)
	}
	w.Want(third, jobs.Failed)
	w.Consistent()
}

// A secret whose beginning is sent in one call and whose rest in the next goes from
// both.
func TestASecretIsNotToldInTwoCalls(t *testing.T) {
	w := newTestWorkspace(t)
	w.Job("a", secret)
	agent := w.Agent("claude-1")
	held := w.Claim(agent)
	tell := func(messages ...string) {
		t.Helper()
		var lines []joblog.Line
		for _, m := range messages {
			lines = append(lines, joblog.Line{Level: joblog.Info, Message: m})
		}
		if _, err := w.Dispatch.WriteLogs(w.Ctx, agent, ref(held), lines); err != nil {
			t.Fatal(err)
		}
	}
	form := hex.EncodeToString([]byte(canary))
	tell("starting", "it is "+form[:11])
	tell(form[11:]+".", "ended")
	got := dbfactory.Text(t, w.DB, `SELECT string_agg(message, '|' ORDER BY id) FROM job_log`)
	if want := "starting|it is [secret]|[secret].|ended"; got != want {
		t.Errorf("the log says %q; want %q", got, want)
	}
	w.Consistent()
}
