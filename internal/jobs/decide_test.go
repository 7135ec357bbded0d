package jobs

import (
	"testing"
	"time"

	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/internal/fault"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// Whatever decision is requested, it follows the table or is refused, never
// panics, and keeps key, epoch and id.
func TestDecisionsFollowTheTable(t *testing.T) {
	decisions := []struct {
		name   string
		by     Trigger
		decide func(Job) (Decision, error)
	}{
		{"Block", ByBlock, func(j Job) (Decision, error) { return j.Block("later") }},
		{"Unblock", ByUnblock, func(j Job) (Decision, error) { return Locked{j, noon}.Unblock(false) }},
		{"Reply", ByAnswer, func(j Job) (Decision, error) {
			j.Question = "which one?"
			return Locked{j, noon}.Reply(false, "the first")
		}},
		{"Pause", ByPause, Job.Pause},
		{"Resume", ByResume, func(j Job) (Decision, error) { return Locked{j, noon}.Resume(true) }},
		{"Cancel", ByCancel, func(j Job) (Decision, error) { return j.Cancel("enough") }},
		{"Retry", ByRetry, func(j Job) (Decision, error) { return Locked{j, noon}.Retry(false, "") }},
		{"Approve", ByApprove, func(j Job) (Decision, error) { return j.Approve("abc") }},
		{"Reject", ByReject, func(j Job) (Decision, error) { return j.Reject("no") }},
		{"Merge", ByMerge, func(j Job) (Decision, error) { return j.Merge("abc", "") }},
		{"FailMerge", ByMergeFail, func(j Job) (Decision, error) { return j.FailMerge("conflict") }},
		{"Finish", ByFinish, func(j Job) (Decision, error) { return j.Finish("done by hand", nil) }},
		{"Archive", ByArchive, Job.Archive},
		{"Start", ByStart, Job.Start},
		{"Ask", ByAsk, func(j Job) (Decision, error) { return j.Ask("which one?") }},
		{"Complete", ByComplete, func(j Job) (Decision, error) { return j.Complete(Work{Result: []byte("{}")}) }},
		{"Release", ByRelease, func(j Job) (Decision, error) { return Locked{j, noon}.Release("") }},
		{"Fail", ByFailure, func(j Job) (Decision, error) { return Locked{j, noon}.Fail(true, FailedOther, "x") }},
		{"FailOfHost", ByFailure, func(j Job) (Decision, error) { return Locked{j, noon}.FailOfHost(FailedOther, time.Minute, "x") }},
		{"Lose", ByLoss, func(j Job) (Decision, error) { return Locked{j, noon}.Lose("x", time.Minute) }},
		{"TimeOut", ByTimeout, func(j Job) (Decision, error) { return Locked{j, noon}.TimeOut("x") }},
		{"FailCycle", ByCycle, func(j Job) (Decision, error) { return j.FailCycle([]string{"FB-1", "FB-2", "FB-1"}) }},
		{"Hold", ByHold, func(j Job) (Decision, error) { return j.Hold(WaitRepoBusy) }},
	}
	// Creating, claiming and undoing have tests of their own; Promote refuses with false.
	tested := map[Trigger]bool{ByCreate: true, ByClaim: true, ByPromote: true, ByUndo: true}
	for _, c := range decisions {
		tested[c.by] = true
	}
	for by := range table {
		if !tested[by] {
			t.Errorf("no decision by %s is tested", by)
		}
	}
	for _, c := range decisions {
		for _, status := range Statuses {
			before := Job{Key: "FB-1", Status: status, Epoch: 7, Spec: Spec{MaxRetries: 3}, MaxLost: 5, RetryBackoffSeconds: 10}
			d, err := c.decide(before)
			if !Can(status, c.by) {
				if !fault.Is(err, fault.InvalidTransition) {
					t.Errorf("%s of a %s job: %v; want invalid_transition", c.name, status, err)
				}
				continue
			}
			if err != nil {
				t.Errorf("%s of a %s job: %v", c.name, status, err)
				continue
			}
			if !Allowed(status, c.by, d.After.Status) {
				t.Errorf("%s leads from %s to %s, which the table does not name", c.name, status, d.After.Status)
			}
			if d.After.Epoch != 7 || d.After.Key != "FB-1" {
				t.Errorf("%s changed epoch or key: %+v", c.name, d.After)
			}
			if (d.After.Status == Waiting) != (d.After.WaitReason != NoWait) {
				t.Errorf("%s leads to %s with wait reason %q", c.name, d.After.Status, d.After.WaitReason)
			}
		}
	}
}

// What the next attempt is to know stays until the job is completed.
func TestFeedbackAndAnswersStayUntilTheWorkIsDone(t *testing.T) {
	job := Job{Status: Running, Feedback: "no tests", Question: "which one?", Answer: "the first", ReviewRequired: true}
	d, _ := job.Complete(Work{Result: []byte("{}")})
	if a := d.After; a.Status != InReview || a.Feedback != "no tests" || a.Answer != "the first" {
		t.Errorf("handed in: %+v", a)
	}
	d, _ = d.After.Reject("still none")
	if a := d.After; a.Feedback != "still none" || a.Question != "which one?" {
		t.Errorf("rejected again: feedback %q, question %q", a.Feedback, a.Question)
	}
	job = d.After
	job.Status, job.ReviewRequired = Running, false
	d, _ = job.Complete(Work{Result: []byte("{}")})
	if a := d.After; a.Status != Completed || a.Feedback+a.Question+a.Answer != "" {
		t.Errorf("completed: %q %q %q", a.Feedback, a.Question, a.Answer)
	}
}

// A question is answered once: a person's block later on is no question again.
func TestOnlyAnOpenQuestionIsAnswered(t *testing.T) {
	for name, c := range map[string]struct {
		question, answer string
		open             bool
	}{
		"asked":                     {"which one?", "", true},
		"blocked by a person":       {"", "", false},
		"answered and then blocked": {"which one?", "the first", false},
	} {
		d, err := Locked{Job{Key: "FB-1", Status: Blocked, Question: c.question, Answer: c.answer}, noon}.Reply(false, "the second")
		if c.open && (err != nil || d.After.Answer != "the second") || !c.open && !fault.Is(err, fault.InvalidTransition) {
			t.Errorf("%s: answer %q, %v", name, d.After.Answer, err)
		}
	}
}

// A waiting job is promoted, gets what it waits for now, or is left alone.
func TestAPromotionSaysWhatHoldsTheJobNow(t *testing.T) {
	later := noon.Add(time.Hour)
	for name, c := range map[string]struct {
		was       WaitReason
		notBefore *time.Time
		open      bool
		changed   bool
		want      WaitReason
	}{
		"done":                            {was: WaitDependency, changed: true},
		"still waiting":                   {was: WaitDependency, open: true},
		"done, too early":                 {was: WaitDependency, notBefore: &later, changed: true, want: WaitNotBefore},
		"backing off":                     {was: WaitRetryBackoff, notBefore: &later},
		"backed off, linked meanwhile":    {was: WaitRetryBackoff, notBefore: &noon, open: true, changed: true, want: WaitDependency},
		"repo free":                       {was: WaitRepoBusy, changed: true},
		"repo free, linked meanwhile":     {was: WaitRepoBusy, open: true, changed: true, want: WaitDependency},
		"place in review, time set since": {was: WaitReviewBacklog, notBefore: &later, changed: true, want: WaitNotBefore},
	} {
		d, changed := Locked{Job{Status: Waiting, WaitReason: c.was, Spec: Spec{NotBefore: c.notBefore}}, noon}.Promote(c.open)
		if changed != c.changed || changed && d.After.WaitReason != c.want {
			t.Errorf("%s: changed %t to %q; want %t, %q", name, changed, d.After.WaitReason, c.changed, c.want)
		}
		if changed && (d.Type == eventlog.JobPromoted) != (d.After.Status == Ready) {
			t.Errorf("%s: %s leads to %s", name, d.Type, d.After.Status)
		}
	}
}

func TestWhatHoldsAJobDecidesWhereItGoes(t *testing.T) {
	later := noon.Add(time.Hour)
	for name, c := range map[string]struct {
		notBefore  *time.Time
		dependency bool
		want       Status
		reason     WaitReason
	}{
		"nothing":        {want: Ready},
		"a dependency":   {dependency: true, want: Waiting, reason: WaitDependency},
		"a later time":   {notBefore: &later, want: Waiting, reason: WaitNotBefore},
		"both":           {notBefore: &later, dependency: true, want: Waiting, reason: WaitDependency},
		"a time gone by": {notBefore: &noon, want: Ready},
	} {
		d, err := Locked{Job{Status: Paused, Spec: Spec{NotBefore: c.notBefore}}, noon}.Resume(c.dependency)
		if err != nil || d.After.Status != c.want || d.After.WaitReason != c.reason {
			t.Errorf("%s: %s %q, %v; want %s %q", name, d.After.Status, d.After.WaitReason, err, c.want, c.reason)
		}
	}
}

func TestLimitsOfFailureAndLoss(t *testing.T) {
	job := Locked{Job{Status: Running, Spec: Spec{MaxRetries: 2}, MaxLost: 2, RetryBackoffSeconds: 10}, noon}
	for failures, want := range []Status{Waiting, Waiting, Failed} {
		job.FailureCount = failures
		if d, err := job.Fail(true, FailedOther, "x"); err != nil || d.After.Status != want {
			t.Errorf("failure %d: %s, %v; want %s", failures+1, d.After.Status, err, want)
		}
	}
	job.FailureCount = 0
	if d, _ := job.Fail(false, FailedOther, "x"); d.After.Status != Failed {
		t.Errorf("not retryable: %s; want failed", d.After.Status)
	}
	for losses, want := range []Status{Ready, Ready, Failed} {
		job.LostCount = losses
		d, err := job.Lose("silent", 0)
		if err != nil || d.After.Status != want || d.After.FailureCount != 0 {
			t.Errorf("loss %d: %s, failures %d, %v; want %s", losses+1, d.After.Status, d.After.FailureCount, err, want)
		}
	}
}

func TestAnApprovalIsOfTheWorkThatWasLookedAt(t *testing.T) {
	t.Parallel()
	job := Job{Key: "FB-1", Status: InReview, Result: []byte(`{"commit": "9be04d1c2f"}`)}
	for head, ok := range map[string]bool{"": true, "9be04d1c2f": true, "9be04d1": true, "9be04d1c2f77aa": true, "1111111": false} {
		if _, err := job.Approve(head); (err == nil) != ok || err != nil && !fault.Is(err, fault.VersionConflict) {
			t.Errorf("head %q: %v", head, err)
		}
	}
	job.Result = []byte(`["no object"]`)
	if _, err := job.Approve("1111111"); err != nil {
		t.Errorf("a result without a commit: %v", err)
	}
}
