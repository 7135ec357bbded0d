package dispatch_test

import (
	"context"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/internal/dispatch/report"
	"github.com/fleetboard/fleetboard/internal/distinct"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/jobs/attempts"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

const (
	sayApprove = `{"verdict": "approve", "criteria": [], "findings": []}`
	sayUnsure  = `{"verdict": "unsure"}`
	sayChanges = `{"verdict": "changes", "findings": [{"path": "a.go", "line": 7, "severity": "blocker", "text": "It divides by zero."}]}`
)

// says has an agent claim the next verification and give its verdict.
func (w *testWorkspace) says(agent tenancy.Principal, result string) jobs.Job {
	w.T.Helper()
	v := w.Claim(agent)
	if v.Kind != jobs.KindVerify {
		w.T.Fatalf("%s got %s", agent.Name, v.Key)
	}
	done, err := w.Dispatch.Complete(w.Ctx, agent, ref(v), report.Completion{Result: []byte(result)})
	if err != nil {
		w.T.Fatal(err)
	}
	return done.Job
}

// Work that wants changes goes back to its agent with the findings, as long as there are rounds left; then
// a person decides, and every round is there to be seen.
func TestChangesGoBackToTheAgentForSomeRounds(t *testing.T) {
	w := newTestWorkspace(t)
	w.verified(distinct.ByAgent)
	ada, bob := w.Agent("ada", hasAtlas), w.Agent("bob", hasAtlas)
	work := w.Job("work", inRepo("atlas"))
	for round, commit := range []string{"abc", "def"} {
		w.handIn(ada, commit)
		done := w.says(bob, sayChanges)
		j := w.Want(work, jobs.Ready)
		if done.Status != jobs.Completed || j.Round != round+1 || j.Verdict != "changes" || j.StatusBy.Name != "policy" ||
			!strings.Contains(j.Feedback, "[blocker] a.go:7\nIt divides by zero.") || !strings.Contains(j.Feedback, "round "+string(rune('1'+round))+" of 3") {
			t.Errorf("after round %d it is %s by %s, %s, round %d: %s", round+1, j.Status, j.StatusBy.Name, j.Verdict, j.Round, j.Feedback)
		}
		w.endVerifications(0)
	}
	third := w.handIn(ada, "123")
	if third.Verdict != "" || third.Round != 2 {
		t.Errorf("handed in again it has %q, round %d", third.Verdict, third.Round)
	}
	v := w.says(bob, sayChanges)
	if j := w.Want(work, jobs.InReview); j.Verdict != "changes" || j.Round != 2 {
		t.Errorf("beyond its rounds it has %q, round %d", j.Verdict, j.Round)
	}
	if v := w.Get(v); v.Verifies != "FB-1" || v.Verdict != "" {
		t.Errorf("the verify job verifies %q, verdict %q", v.Verifies, v.Verdict)
	}
	told := dbfactory.Text(t, w.DB, `SELECT string_agg(e.payload ->> 'verdict' || ' of ' || (e.payload ->> 'commit') || ' by ' || e.actor, ', ' ORDER BY e.id)
		FROM event e WHERE e.job_id = $1 AND e.type = 'job.verdict_given'`, work.ID)
	if told != "changes of abc by bob, changes of def by bob, changes of 123 by bob" {
		t.Errorf("the history says %q", told)
	}
	if rejected := dbfactory.Text(t, w.DB, `SELECT string_agg(outcome, ',' ORDER BY epoch) FROM attempt WHERE job_id = $1`, work.ID); rejected != "rejected,rejected,completed" {
		t.Errorf("its attempts ended %s", rejected)
	}
	w.Consistent()
}

// Whoever approves or is not sure leaves the work to a person, with the verdict.
func TestAPersonDecidesWithTheVerdict(t *testing.T) {
	for word, result := range map[string]string{"approve": sayApprove, "unsure": sayUnsure} {
		t.Run(word, func(t *testing.T) {
			w := newTestWorkspace(t)
			w.verified(distinct.ByAgent)
			ada, bob := w.Agent("ada", hasAtlas), w.Agent("bob", hasAtlas)
			work := w.Job("work", inRepo("atlas"))
			w.handIn(ada, "abc")
			w.says(bob, result)
			if j := w.Want(work, jobs.InReview); j.Verdict != word || j.Round != 0 {
				t.Errorf("it has %q, round %d", j.Verdict, j.Round)
			}
			if j := w.Act(work, jobs.ByApprove); j.Status != jobs.Approved || j.Verdict != word {
				t.Errorf("approved it is %s, %q", j.Status, j.Verdict)
			}
			w.endVerifications(0)
			w.Consistent()
		})
	}
}

// Without rounds nothing goes back by itself.
func TestWithoutRoundsAPersonDecides(t *testing.T) {
	w := newTestWorkspace(t)
	none := 0
	w.verified(distinct.ByAgent, func(p *jobs.ProductSettings) { p.Verify.Rounds = &none })
	ada, bob := w.Agent("ada", hasAtlas), w.Agent("bob", hasAtlas)
	work := w.Job("work", inRepo("atlas"))
	w.handIn(ada, "abc")
	w.says(bob, sayChanges)
	if j := w.Want(work, jobs.InReview); j.Verdict != "changes" || j.Round != 0 || j.Feedback != "" {
		t.Errorf("it has %q, round %d, %q", j.Verdict, j.Round, j.Feedback)
	}
}

// What is no verdict is refused with its field, and the lease goes on.
func TestWhatIsNoVerdictIsRefused(t *testing.T) {
	w := newTestWorkspace(t)
	w.verified(distinct.ByAgent)
	ada, bob := w.Agent("ada", hasAtlas), w.Agent("bob", hasAtlas)
	work := w.Job("work", inRepo("atlas"), func(n *jobs.New) { n.Acceptance = []string{"It works."} })
	w.handIn(ada, "abc")
	// The criteria are those of the hand-in, whatever people write since.
	if _, err := w.Jobs.Patch(w.Ctx, w.Owner, work.Key, jobs.Patch{Version: w.Get(work).Version, Spec: jobs.Spec{Acceptance: []string{"Other."}},
		Set: []string{"acceptance"}}); err != nil {
		t.Fatal(err)
	}
	v := w.Claim(bob)
	for result, field := range map[string]string{"": "result", sayApprove: "result.criteria", `{"verdict": "good"}`: "result.verdict"} {
		_, err := w.Dispatch.Complete(w.Ctx, bob, ref(v), report.Completion{Result: []byte(result)})
		if !fault.Is(err, fault.Validation) || fault.From(err).Fields[field] == "" {
			t.Errorf("%s: %v", result, err)
		}
	}
	whole := `{"verdict": "approve", "criteria": [{"text": "It works.", "met": "yes", "evidence": "go test ./... passes"}]}`
	for range 2 { // sent again it is answered as before
		if _, err := w.Dispatch.Complete(w.Ctx, bob, ref(v), report.Completion{Result: []byte(whole), Summary: "Fine."}); err != nil {
			t.Fatal(err)
		}
	}
	if got := dbfactory.Text(t, w.DB, `SELECT verdict || ' ' || agent || ' ' || (criteria -> 0 ->> 'evidence') FROM job_verify`); got != "approve bob go test ./... passes" {
		t.Errorf("kept is %q", got)
	}
}

// A verdict about work that was decided about, or handed in again, meanwhile changes nothing.
func TestALateVerdictChangesNothing(t *testing.T) {
	w := newTestWorkspace(t)
	w.verified(distinct.ByAgent)
	ada, bob := w.Agent("ada", hasAtlas), w.Agent("bob", hasAtlas)
	work := w.Job("work", inRepo("atlas"))
	w.handIn(ada, "abc")
	old := w.Claim(bob)
	w.Act(work, jobs.ByReject)
	w.handIn(ada, "abc") // the same commit again
	if _, err := w.Dispatch.Complete(w.Ctx, bob, ref(old), report.Completion{Result: []byte(sayChanges)}); err != nil {
		t.Fatal(err)
	}
	if j := w.Want(work, jobs.InReview); j.Verdict != "" || j.Round != 0 {
		t.Errorf("a late verdict left %q, round %d", j.Verdict, j.Round)
	}
	w.says(bob, sayApprove)
	// A commit that has its verdict is not verified again.
	w.Act(work, jobs.ByReject)
	if j := w.handIn(ada, "abc"); j.Verdict != "approve" {
		t.Errorf("the same commit has %q", j.Verdict)
	}
	w.noneFor(bob)
	w.Consistent()
}

// Two verifiers of one commit at once, while the work is held: one verdict, in whatever order.
func TestOfTwoVerifiersOneGivesTheVerdictAtOnce(t *testing.T) {
	w := newTestWorkspace(t)
	w.verified(distinct.ByAgent)
	ada, bob, eve := w.Agent("ada", hasAtlas), w.Agent("bob", hasAtlas), w.Agent("eve", hasAtlas)
	work := w.Job("work", inRepo("atlas"))
	w.handIn(ada, "abc")
	first := w.Claim(bob)
	w.Act(work, jobs.ByReject)
	w.handIn(ada, "abc")
	second := w.Claim(eve)
	// Both are of the attempt that waits, as no server would ever make them.
	dbfactory.Exec(t, w.DB, `DROP INDEX job_verify_attempt`)
	dbfactory.Exec(t, w.DB, `UPDATE job_verify SET epoch = 2`)
	release := w.Hold(`SELECT FROM job WHERE id = $1 FOR UPDATE`, work.ID)
	var both errgroup.Group
	for agent, v := range map[*tenancy.Principal]jobs.Job{&bob: first, &eve: second} {
		both.Go(func() error {
			_, err := w.Dispatch.Complete(w.Ctx, *agent, ref(v), report.Completion{Result: []byte(sayApprove)})
			return err
		})
	}
	w.Blocked(2)
	release()
	if err := both.Wait(); err != nil {
		t.Fatal(err)
	}
	if n := dbfactory.Int(t, w.DB, `SELECT count(*) FROM job_verify WHERE verdict <> ''`); n != 1 {
		t.Errorf("%d verdicts", n)
	}
	if n := dbfactory.Int(t, w.DB, `SELECT count(*) FROM event WHERE type = 'job.verdict_given'`); n != 1 {
		t.Errorf("%d are told", n)
	}
	// The constraint says so too, whatever a server does.
	err := w.DB.In(w.Ctx, db.Workspace(w.Workspace), func(tx db.Tx) error {
		_, err := tx.Exec(context.Background(), `UPDATE job_verify SET verdict = 'unsure', decided_at = now()`)
		return err
	})
	if err == nil || !strings.Contains(err.Error(), "job_verify_verdict") {
		t.Errorf("a second verdict: %v", err)
	}
}

// An agent that registered with another model and then ran an author's gives no verdict.
func TestWhoRanTheModelOfAnAuthorGivesNoVerdict(t *testing.T) {
	w := newTestWorkspace(t)
	w.verified(distinct.ByModel)
	ada, bob := w.Agent("ada", runs("claude-opus-4")), w.Agent("bob", runs("gpt-7"))
	work := w.Job("work", inRepo("atlas"))
	w.handIn(ada, "abc")
	v := w.Claim(bob)
	if _, err := w.Dispatch.Start(w.Ctx, bob, ref(v), &attempts.ModelRun{Engine: "claude", Name: "claude-opus-4", Why: attempts.NamedByWorker}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Dispatch.Complete(w.Ctx, bob, ref(v), report.Completion{Result: []byte(sayApprove)}); !fault.Is(err, fault.Forbidden) {
		t.Errorf("it gave a verdict: %v", err)
	}
	w.Want(work, jobs.InReview)
}
