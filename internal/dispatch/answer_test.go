package dispatch_test

import (
	"strings"
	"testing"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/internal/dispatch/actions"
	"github.com/fleetboard/fleetboard/internal/dispatch/lease"
	"github.com/fleetboard/fleetboard/internal/dispatch/report"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// found returns a job that an agent filed while it holds another one, and that asks.
func (w *testWorkspace) found(by tenancy.Principal, holding lease.Ref, worker tenancy.Principal) jobs.Job {
	w.T.Helper()
	made, err := w.submit(by, holding, func(n *jobs.New) { n.Priority = new(10) })
	if err != nil {
		w.T.Fatal(err)
	}
	held := w.Claim(worker)
	if held.Key != made.Key {
		w.T.Fatalf("%s was claimed, and not %s", held.Key, made.Key)
	}
	asked, err := w.Dispatch.Ask(w.Ctx, worker, ref(held), report.Question{Text: "Which database?"})
	if err != nil {
		w.T.Fatal(err)
	}
	return asked.Job
}

func (w *testWorkspace) answer(who tenancy.Principal, job jobs.Job, words string) (jobs.Job, error) {
	return w.Dispatch.Act(w.Ctx, who, job.Key, actions.Action{Verb: jobs.ByAnswer, Reason: words})
}

// An agent answers the questions of jobs that were discovered from one that it holds, while
// it holds it, and no other agent does: not the one that asked, not one that holds another
// job, not the agent itself by another link or once its lease has ended.
func TestAnAgentAnswersWhatItsOwnWorkAsks(t *testing.T) {
	w := newTestWorkspace(t)
	ada := w.submitter(tenancy.Scope{})
	bob, eve := w.Agent("bob"), w.Agent("eve")
	w.Job("origin", priority(10))
	held := w.Claim(ada)
	asking := w.found(ada, ref(held), bob)
	w.Job("another", priority(10))
	elsewhere := w.Claim(eve)

	for name, who := range map[string]tenancy.Principal{"the one that asked": bob, "one with another job": eve} {
		if _, err := w.answer(who, asking, "SQLite"); !fault.Is(err, fault.Forbidden) {
			t.Errorf("%s: %v; want a refusal", name, err)
		}
	}
	if _, err := w.Jobs.Link(w.Ctx, w.Owner, asking.Key, elsewhere.Key, jobs.Supersedes); err != nil {
		t.Fatal(err)
	}
	if _, err := w.answer(eve, asking, "SQLite"); !fault.Is(err, fault.Forbidden) {
		t.Errorf("by another link: %v; want a refusal", err)
	}
	narrow := ada
	narrow.Scope.Products = []string{"elsewhere"}
	if _, err := w.answer(narrow, asking, "SQLite"); !fault.Is(err, fault.Forbidden) {
		t.Errorf("outside its token's scope: %v; want a refusal", err)
	}
	old := ada
	old.Boot = "of before"
	if _, err := w.answer(old, asking, "SQLite"); !fault.Is(err, fault.Superseded) {
		t.Errorf("a boot that was replaced: %v", err)
	}
	for _, verb := range []jobs.Trigger{jobs.ByUnblock, jobs.ByCancel, jobs.ByPause, jobs.ByArchive} {
		if _, err := w.Dispatch.Act(w.Ctx, ada, asking.Key, actions.Action{Verb: verb}); !fault.Is(err, fault.Forbidden) {
			t.Errorf("%s: %v; want a refusal", verb, err)
		}
	}
	w.Want(asking, jobs.Blocked)

	answered, err := w.answer(ada, asking, "PostgreSQL")
	if err != nil || answered.Status != jobs.Ready || answered.Answer != "PostgreSQL" {
		t.Fatalf("it is %s with the answer %q, %v", answered.Status, answered.Answer, err)
	}
	if by := dbfactory.Text(t, w.DB, "SELECT actor_kind || ' ' || actor FROM event WHERE type = 'job.answered'"); by != "agent "+ada.Name {
		t.Errorf("it was answered by %s", by)
	}
	if again := w.Claim(bob); again.Answer != "PostgreSQL" {
		t.Errorf("the next attempt has the answer %q", again.Answer)
	}
	second := w.found(ada, ref(held), w.Agent("bob-2"))
	w.Complete(ada, held)
	if _, err := w.answer(ada, second, "SQLite"); !fault.Is(err, fault.Forbidden) {
		t.Errorf("after its lease: %v; want a refusal", err)
	}
	w.Want(second, jobs.Blocked)
	w.Consistent()
}

// An agent's answer does not reveal the secrets of the job that it holds.
func TestAnAgentsAnswerHasNoSecrets(t *testing.T) {
	w := newTestWorkspace(t)
	ada := w.submitter(tenancy.Scope{})
	w.Job("origin", priority(10), func(n *jobs.New) {
		n.InputContext, n.SecretKeys = []byte(`{"password": "correct horse"}`), []string{"password"}
	})
	held := w.Claim(ada)
	asking := w.found(ada, ref(held), w.Agent("bob"))
	answered, err := w.answer(ada, asking, "Use correct horse.")
	if err != nil || strings.Contains(answered.Answer, "horse") || !strings.Contains(answered.Answer, "[secret]") {
		t.Errorf("the answer is %q, %v", answered.Answer, err)
	}
}
