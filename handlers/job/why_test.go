package job

import (
	"testing"
	"time"

	"github.com/fleetboard/fleetboard/handlers/reason"
	"github.com/fleetboard/fleetboard/internal/fleet"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/jobs/attempts"
	"github.com/fleetboard/fleetboard/internal/screens"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	view "github.com/fleetboard/fleetboard/views/job"
	"github.com/fleetboard/fleetboard/views/links"
)

// whySheet is the page of FB-1 in a status, for a reader who may change it or
// not.
var noon = time.Date(2025, 11, 21, 12, 0, 0, 0, time.UTC)

func whySheet(status jobs.Status, code string, canWrite bool) pageData {
	return pageData{
		job: jobs.Job{Key: "FB-1", Product: "web", Status: status, StatusBy: tenancy.Actor{Name: "Jo"}, Question: "24 or 48?", LastError: "boom"}, now: noon, canWrite: canWrite,
		JobPage: screens.JobPage{Why: screens.Explanation{
			Reasons: []screens.Reason{{Code: code, By: tenancy.Actor{Name: "claude-1"}, Text: "24 or 48?"}}}},
	}
}

func saidIn(w *view.Why) (lines, hrefs []string) {
	for _, l := range w.Lines {
		lines = append(lines, l.String())
		for _, span := range l {
			if span.Href != "" {
				hrefs = append(hrefs, span.Href)
			}
		}
	}
	return lines, hrefs
}

// Whoever may change a job reads what to do next; others read what is.
func TestTheExplanationSaysWhatToDoNext(t *testing.T) {
	for name, test := range map[string]struct {
		status jobs.Status
		code   string
		want   string
		href   string
	}{
		"question":          {jobs.Blocked, screens.CodeQuestion, "Answer it, and the next attempt goes on with your answer", "#question"},
		"in review":         {jobs.InReview, screens.CodeInReview, "Review it with its changes and checks", links.ReviewJob("FB-1", "")},
		"paths busy":        {jobs.Waiting, screens.CodePathsBusy, "The settings of web decide about this", links.Product("web")},
		"repo busy":         {jobs.Waiting, screens.CodeRepoBusy, "The settings of web decide about this", links.Product("web")},
		"too early":         {jobs.Waiting, screens.CodeNotBefore, "Change its time", links.JobEdit("FB-1", "not_before")},
		"blocked by others": {jobs.Waiting, screens.CodeDependencyFailed, "Change its dependencies", links.JobEdit("FB-1", "dep")},
		"failed":            {jobs.Failed, screens.CodeFailed, "Retry starts it anew, with all its retries. You can also retry it with changes", links.JobRetryWith("FB-1")},
		"cancelled":         {jobs.Aborted, screens.CodeAborted, "Retry starts it anew, with all its retries. You can also retry it with changes", links.JobRetryWith("FB-1")},
	} {
		lines, hrefs := saidIn(whySheet(test.status, test.code, true).reason())
		if len(lines) == 0 || lines[len(lines)-1] != test.want {
			t.Errorf("%s: %q, want %q at the end", name, lines, test.want)
		}
		if test.href != "" && (len(hrefs) != 1 || hrefs[0] != test.href) {
			t.Errorf("%s leads to %q, want %q", name, hrefs, test.href)
		}
		if lines, hrefs = saidIn(whySheet(test.status, test.code, false).reason()); len(hrefs) != 0 {
			t.Errorf("%s: a reader without the right is led to %q by %q", name, hrefs, lines)
		}
	}
}

// The question stands below as a whole, so the explanation does not repeat it.
func TestTheExplanationDoesNotRepeatTheQuestion(t *testing.T) {
	for _, canWrite := range []bool{true, false} {
		lines, _ := saidIn(whySheet(jobs.Blocked, screens.CodeQuestion, canWrite).reason())
		for _, l := range lines {
			if l == "claude-1 asks: 24 or 48?" {
				t.Errorf("the question is said twice, writer %t", canWrite)
			}
		}
	}
}

// The page names who decided, and who carried it out beside, whatever either is
// called.
func TestACancelledJobNamesWhoDecided(t *testing.T) {
	s := whySheet(jobs.Aborted, screens.CodeAborted, false)
	s.job.StatusBy = tenancy.Actor{Kind: tenancy.KindPerson, ID: "1", Name: "reaper"}
	s.job.CarriedOutBy, s.job.LastError = tenancy.Actor{Kind: tenancy.KindSystem, ID: "reaper", Name: "reaper"}, "not needed"
	if got, want := s.reason().Title, "FB-1 was cancelled by reaper (carried out by the coordinator): not needed"; got != want {
		t.Errorf("the page says %q, want %q", got, want)
	}
}

func TestWhyAFactoryDoesNotFit(t *testing.T) {
	for want, fit := range map[string]fleet.Fit{
		"is not linux-5":                {Reason: fleet.ReasonOtherFactory},
		"is not linux-5, and lacks":     {Reason: fleet.ReasonOtherFactory, Missing: []string{"repo:docs"}},
		"has all it needs, but is dead": {Reason: fleet.ReasonDead},
	} {
		if got := reason.Misfit(fit, "linux-5"); got != want {
			t.Errorf("misfit says %q, want %q", got, want)
		}
	}
}

// "1 failure of 0" is no way to say that there were no retries.
func TestTheNoteOfTheAttempts(t *testing.T) {
	s := pageData{job: jobs.Job{FailureCount: 1, Spec: jobs.Spec{MaxRetries: 3}, LostCount: 1, MaxLost: 5}, JobPage: screens.JobPage{
		Attempts: []attempts.Attempt{{ClaimedAt: noon.Add(-time.Hour)}}}}
	if got, want := s.attemptNote(), "1 failure of 3, 1 loss of 5"; got != want {
		t.Errorf("the note is %q, want %q", got, want)
	}
	s.job.MaxRetries = 0
	if got, want := s.attemptNote(), "1 failure, 1 loss of 5"; got != want {
		t.Errorf("the note is %q, want %q", got, want)
	}
}
