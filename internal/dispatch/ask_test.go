package dispatch_test

import (
	"strings"
	"testing"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/internal/dispatch/actions"
	"github.com/fleetboard/fleetboard/internal/dispatch/claim"
	"github.com/fleetboard/fleetboard/internal/dispatch/report"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/fleet"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/jobs/attempts"
)

// An agent's question parks its job and frees its seat; the next attempt, by
// whomever, is given the question, the answer and the checkpoint.
func TestAQuestionParksTheJobUntilAPersonAnswers(t *testing.T) {
	w := newTestWorkspace(t)
	one := w.Agent("claude-1", func(r *fleet.Registration) { r.MaxConcurrentJobs = 1 })
	two := w.Agent("claude-2")
	w.Job("one")
	other := w.Job("other", priority(1))
	held := w.Claim(one)
	asked, err := w.Dispatch.Ask(w.Ctx, one, ref(held), report.Question{Text: "Which database?", Checkpoint: []byte(`{"at": 4}`)})
	if err != nil || asked.Status != jobs.Blocked || asked.BlockedReason != "question" || asked.Lease != nil {
		t.Fatalf("ask = %s for %q, %v", asked.Status, asked.BlockedReason, err)
	}
	if got := w.Claim(one); got.Key != other.Key {
		t.Errorf("the freed seat got %s; want %s", got.Key, other.Key)
	}
	w.Nothing(two, claim.ReasonEmpty)
	if _, err := w.Dispatch.Progress(w.Ctx, one, ref(held), report.Progress{}); !fault.Is(err, fault.AlreadyEnded) {
		t.Errorf("progress after the question: %v", err)
	}
	long := strings.Repeat("é", 10_000)
	answered, err := w.Dispatch.Act(w.Ctx, w.Owner, held.Key, actions.Action{Verb: jobs.ByAnswer, Reason: long})
	if err != nil || answered.Status != jobs.Ready {
		t.Fatalf("answer = %s, %v", answered.Status, err)
	}
	again := w.Claim(two)
	if again.Question != "Which database?" || again.Answer != long || string(again.Checkpoint) != `{"at": 4}` || again.Epoch != 2 {
		t.Errorf("the next attempt has %q, an answer of %d bytes, checkpoint %s", again.Question, len(again.Answer), again.Checkpoint)
	}
	attempts, err := attempts.NewService(w.DB).Attempts(w.Ctx, w.Owner, held.Key)
	if err != nil || attempts[1].Outcome != "asked" || string(attempts[1].Checkpoint) != `{"at": 4}` {
		t.Errorf("attempts %+v, %v", attempts, err)
	}
	beat, err := w.Dispatch.Heartbeat(w.Ctx, two, report.Heartbeat{Agent: two.Name, BootID: two.Boot})
	if err != nil || len(beat.Leases) != 1 || beat.Leases[0].Answer != long {
		t.Errorf("the heartbeat does not carry the answer: %v", err)
	}
	w.Consistent()
}

// What a person directed the job to do is carried out in place of the question.
func TestAQuestionGivesWayToADirective(t *testing.T) {
	w := newTestWorkspace(t)
	agent := w.Agent("claude-1")
	for verb, want := range map[jobs.Trigger]jobs.Status{jobs.ByPause: jobs.Paused, jobs.ByCancel: jobs.Aborted} {
		w.Job("one")
		held := w.Claim(agent)
		if _, err := w.Dispatch.Act(w.Ctx, w.Owner, held.Key, actions.Action{Verb: verb}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Dispatch.Ask(w.Ctx, agent, ref(held), report.Question{Text: "What now?", Checkpoint: []byte(`{"at": 4}`)}); err != nil {
			t.Fatal(err)
		}
		if now := w.Want(held, want); now.Question != "" || string(now.Checkpoint) != `{"at": 4}` {
			t.Errorf("%s: question %q, checkpoint %s", verb, now.Question, now.Checkpoint)
		}
	}
	w.Consistent()
}

func TestAQuestionAndItsAnswerHaveWords(t *testing.T) {
	w := newTestWorkspace(t)
	agent := w.Agent("claude-1")
	w.Job("one")
	held := w.Claim(agent)
	for name, question := range map[string]string{"none": " \n", "too long": strings.Repeat("é", 10_001), "no text": "a\xff", "a zero": "a\x00"} {
		if _, err := w.Dispatch.Ask(w.Ctx, agent, ref(held), report.Question{Text: question}); !fault.Is(err, fault.Validation) {
			t.Errorf("%s: %v; want a refusal", name, err)
		}
	}
	w.Want(held, jobs.Assigned)
	answer := func(words string) error {
		_, err := w.Dispatch.Act(w.Ctx, w.Owner, held.Key, actions.Action{Verb: jobs.ByAnswer, Reason: words})
		return err
	}
	if err := answer("x"); !fault.Is(err, fault.InvalidTransition) {
		t.Errorf("an answer to a job that asked nothing: %v", err)
	}
	if err := asks.run(w, agent, held); err != nil {
		t.Fatal(err)
	}
	for name, words := range map[string]string{"none": " \n", "too long": strings.Repeat("é", 10_001)} {
		if err := answer(words); !fault.Is(err, fault.Validation) {
			t.Errorf("an answer, %s: %v; want a refusal", name, err)
		}
	}
	w.Want(held, jobs.Blocked)
}

// A job that waits for its children is neither handed in nor merged before the
// last of them is done; its lease goes on meanwhile.
func TestOpenChildrenKeepAJobFromCompletion(t *testing.T) {
	w := newTestWorkspace(t)
	agent := w.Agent("claude-1")
	parent := w.Job("parent", priority(9), reviewed, func(n *jobs.New) { n.WaitsForChildren = true })
	child := w.Job("child", priority(8))
	if _, err := w.Jobs.Link(w.Ctx, w.Owner, child.Key, parent.Key, jobs.Parent); err != nil {
		t.Fatal(err)
	}
	held := w.Claim(agent)
	refused := func(err error) {
		t.Helper()
		if !fault.Is(err, fault.ChildrenOpen) {
			t.Fatalf("%v; want children_open", err)
		}
		if keys, _ := fault.From(err).Details["children"].([]string); len(keys) != 1 || keys[0] != child.Key {
			t.Errorf("the refusal names %v", fault.From(err).Details)
		}
	}
	_, err := w.Dispatch.Complete(w.Ctx, agent, ref(held), report.Completion{})
	refused(err)
	if now := w.Want(held, jobs.Assigned); now.Lease == nil {
		t.Error("the lease is gone")
	}
	dbfactory.Exec(t, w.DB, `UPDATE job SET waits_for_children = false WHERE id = $1`, parent.ID)
	if _, err := w.Dispatch.Complete(w.Ctx, agent, ref(held), report.Completion{}); err != nil {
		t.Fatal(err)
	}
	dbfactory.Exec(t, w.DB, `UPDATE job SET waits_for_children = true WHERE id = $1`, parent.ID)
	if _, err := w.Dispatch.Act(w.Ctx, w.Owner, parent.Key, actions.Action{Verb: jobs.ByApprove}); err != nil {
		t.Fatal(err)
	}
	_, err = w.Dispatch.Act(w.Ctx, w.Owner, parent.Key, actions.Action{Verb: jobs.ByMerge})
	refused(err)
	if _, err := w.Dispatch.Complete(w.Ctx, agent, ref(w.Claim(agent)), report.Completion{}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Dispatch.Act(w.Ctx, w.Owner, parent.Key, actions.Action{Verb: jobs.ByMerge}); err != nil {
		t.Fatal(err)
	}
	w.Want(parent, jobs.Completed)
	w.Consistent()
}

// Work that could not be merged is in review again, with the reason.
func TestAFailedMergeGoesBackToReview(t *testing.T) {
	w := newTestWorkspace(t)
	agent := w.Agent("claude-1")
	w.Job("one", reviewed)
	held := w.Claim(agent)
	if _, err := w.Dispatch.Complete(w.Ctx, agent, ref(held), report.Completion{}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Dispatch.Act(w.Ctx, w.Owner, held.Key, actions.Action{Verb: jobs.ByMergeFail, Reason: "conflict"}); !fault.Is(err, fault.InvalidTransition) {
		t.Errorf("a merge of what nobody approved: %v", err)
	}
	if _, err := w.Dispatch.Act(w.Ctx, w.Owner, held.Key, actions.Action{Verb: jobs.ByApprove}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Dispatch.Act(w.Ctx, w.Owner, held.Key, actions.Action{Verb: jobs.ByMergeFail}); !fault.Is(err, fault.Validation) {
		t.Errorf("without a reason: %v", err)
	}
	back, err := w.Dispatch.Act(w.Ctx, w.Owner, held.Key, actions.Action{Verb: jobs.ByMergeFail, Reason: "conflict in go.mod"})
	if err != nil || back.Status != jobs.InReview || back.LastError != "conflict in go.mod" {
		t.Errorf("merge failed = %s, %q, %v", back.Status, back.LastError, err)
	}
}
