package reason

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/fleetboard/fleetboard/internal/fleet"
	"github.com/fleetboard/fleetboard/internal/fleet/pools"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/screens"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	"github.com/fleetboard/fleetboard/views/ui"
)

var noon = time.Date(2025, 11, 21, 12, 0, 0, 0, time.UTC)

// in returns a moment that far after noon.
func in(d time.Duration) *time.Time {
	at := noon.Add(d)
	return &at
}

// merge is that approved work waits for its merge into trunk.
func merge(who, how, failed string) screens.Reason {
	return screens.Reason{Code: screens.CodeMergeWaits, Text: failed, Merge: screens.Way{Who: who, How: how, Into: "trunk"}}
}

func TestReasons(t *testing.T) {
	retried := jobs.Job{FailureCount: 2, Spec: jobs.Spec{MaxRetries: 3}}
	repo := jobs.Job{Spec: jobs.Spec{Repo: "ios-client"}}
	for name, test := range map[string]struct {
		job  jobs.Job
		why  screens.Reason
		want string
		icon string
		tone ui.Tone
	}{
		"one dependency": {why: screens.Reason{Code: screens.CodeDependency, Keys: []string{"FB-1"}}, want: "Waits for FB-1", icon: "link"},
		"dependencies":   {why: screens.Reason{Code: screens.CodeDependency, Keys: []string{"FB-142", "FB-139"}}, want: "Waits for FB-142 and FB-139", icon: "link"},
		"many": {why: screens.Reason{Code: screens.CodeDependency, Keys: []string{"A", "B", "C", "D", "E"}},
			want: "Waits for A, B, C and 2 more", icon: "link"},
		"today":    {why: screens.Reason{Code: screens.CodeNotBefore, Until: in(6 * time.Hour)}, want: "Not before 18:00 UTC", icon: "calendar-clock"},
		"tomorrow": {why: screens.Reason{Code: screens.CodeNotBefore, Until: in(24 * time.Hour)}, want: "Not before 22 Nov 12:00 UTC", icon: "calendar-clock"},
		"retry": {job: retried, why: screens.Reason{Code: screens.CodeRetryBackoff, Until: in(250 * time.Second), Text: "lint failed\nin two files"},
			want: "Retry 2 of 3 in 4m 10s. Last: lint failed", icon: "timer-reset"},
		"retry due": {job: retried, why: screens.Reason{Code: screens.CodeRetryBackoff, Until: in(-time.Second)}, want: "Retry 2 of 3 now", icon: "timer-reset"},
		"repo busy": {job: repo, why: screens.Reason{Code: screens.CodeRepoBusy, Keys: []string{"FB-137"}}, want: "Repo busy: FB-137 holds ios-client", icon: "lock"},
		"repo worked on": {job: repo, why: screens.Reason{Code: screens.CodeRepoBusy, Keys: []string{"FB-137"}, By: tenancy.Actor{Name: "claude-1"}},
			want: "Repo busy: FB-137 holds ios-client, claude-1 works on it", icon: "lock"},
		"repo of somebody": {job: repo, why: screens.Reason{Code: screens.CodeRepoBusy}, want: "Repo busy: another job holds ios-client", icon: "lock"},
		"paths busy": {job: repo, why: screens.Reason{Code: screens.CodePathsBusy, Keys: []string{"FB-137"}, Paths: []string{"db/a.go"}},
			want: "Paths busy: FB-137 may touch db/a.go too", icon: "lock"},
		"paths worked on": {job: repo, why: screens.Reason{Code: screens.CodePathsBusy, Keys: []string{"FB-137"}, Paths: []string{"a", "b", "c"},
			By: tenancy.Actor{Name: "claude-1"}}, want: "Paths busy: FB-137 may touch a and 2 paths more too, claude-1 works on it", icon: "lock"},
		"paths of one that comes first": {job: repo, why: screens.Reason{Code: screens.CodePathsBusy, Keys: []string{"FB-137"}, Paths: []string{"**"},
			Ahead: true}, want: "Paths busy: FB-137 comes first and may touch all of ios-client", icon: "lock"},
		"paths undecided": {job: repo, why: screens.Reason{Code: screens.CodePathsBusy, Keys: []string{"FB-137"}},
			want: "Paths busy: FB-137 may touch the same files of ios-client", icon: "lock"},
		"paths of nobody": {job: repo, why: screens.Reason{Code: screens.CodePathsBusy},
			want: "Paths busy: other jobs of ios-client are looked at; it goes on in a moment", icon: "lock"},
		"full review": {why: screens.Reason{Code: screens.CodeReviewBacklog, Product: "billing", Count: 5, Limit: 5},
			want: "Review queue of billing is full, 5 of 5 jobs in review", icon: "inbox"},
		"review with room": {why: screens.Reason{Code: screens.CodeReviewBacklog, Product: "billing", Count: 0, Limit: 1},
			want: "Review queue of billing has room again, 0 of 1 job in review", icon: "inbox"},
		"paused product": {why: screens.Reason{Code: screens.CodeProductPaused, Product: "billing"}, want: "Its product billing is paused", icon: "circle-pause"},
		"failed dependency": {why: screens.Reason{Code: screens.CodeDependencyFailed, Ended: []screens.Ended{{Key: "FB-3", Status: jobs.Failed}}},
			want: "Waits for FB-3, which failed. Retry it or unlink it", icon: "octagon-alert", tone: ui.Warn},
		"cancelled dependency": {why: screens.Reason{Code: screens.CodeDependencyFailed, Ended: []screens.Ended{{Key: "FB-3", Status: jobs.Aborted}}},
			want: "Waits for FB-3, which was cancelled. Retry it or unlink it", icon: "octagon-alert", tone: ui.Warn},
		"failed dependencies": {why: screens.Reason{Code: screens.CodeDependencyFailed, Ended: []screens.Ended{{Key: "FB-3", Status: jobs.Failed}, {Key: "FB-4", Status: jobs.Aborted}}},
			want: "Waits for FB-3 and FB-4, which ended without success. Retry or unlink them", icon: "octagon-alert", tone: ui.Warn},
		"lost": {job: retried, why: screens.Reason{Code: screens.CodeRetryBackoff, Until: in(12 * time.Second), Text: "lint failed", Lost: true},
			want: "Lost with many others, back in 12s", icon: "timer-reset"},
		"no agent":           {why: screens.Reason{Code: screens.CodeAgentsBusy, Seats: 4, Free: 1, Factories: []string{"mac-1"}}, want: "1 seat free, but no agent for it on mac-1", icon: "bot"},
		"merged by a person": {job: repo, why: merge(jobs.MergeByPerson, screens.MergeByHand, ""), want: "A person merges it and marks it as merged", icon: "git-merge"},
		"merged without a repo": {job: jobs.Job{ApprovedHead: "abc"}, why: merge(jobs.MergeByPerson, screens.MergeByHand, ""),
			want: "It names no repo, so a person merges it and marks it as merged", icon: "git-merge"},
		"merged by a factory": {job: repo, why: merge(jobs.MergeByWorker, jobs.MergeFastForward, "It conflicts in login.go.\nMore"),
			want: "A factory with ios-client merges it into trunk by fast-forward. The last merge: It conflicts in login.go.", icon: "git-merge"},
		"merged by a pull request": {job: repo, why: merge(jobs.MergeByPullRequest, jobs.MergeByPullRequest, ""),
			want: "A factory that opens pull requests of ios-client merges it into trunk by a pull request", icon: "git-merge"},
		"nothing to merge": {job: repo, why: merge(jobs.MergeByWorker, screens.MergeOfNothing, ""),
			want: "It has nothing to merge and is completed as it is", icon: "git-merge"},
		"merged right now": {job: repo, why: screens.Reason{Code: screens.CodeMergeWaits, Keys: []string{"FB-8"}, By: tenancy.Actor{Name: "smith"},
			Factories: []string{"desk"}, Merge: screens.Way{Who: jobs.MergeByWorker, How: jobs.MergeCommit}},
			want: "FB-8 merges it as a merge commit, smith works on it on desk", icon: "git-merge"},
		"provider": {why: screens.Reason{Code: screens.CodeProviderHeld, Text: "anthropic", Until: in(6 * time.Hour)},
			want: "anthropic takes no requests until 18:00 UTC", icon: "timer-reset"},
		"rate limit": {job: jobs.Job{FailureKind: jobs.FailedRateLimit, Spec: jobs.Spec{MaxRetries: 3}},
			why: screens.Reason{Code: screens.CodeRetryBackoff,
				Until: in(250 * time.Second), Text: "429"}, want: "Its provider took no requests; tried again in 4m 10s. Last: 429", icon: "timer-reset"},
		"seats of two": {why: screens.Reason{Code: screens.CodeSeatsTaken, Seats: 2, Factories: []string{"mac-1"}, Keys: []string{"FB-1", "FB-2"}},
			want: "None of the 2 seats that can run it is free, on mac-1, held by FB-1 and FB-2", icon: "server"},
		"seats of many": {why: screens.Reason{Code: screens.CodeSeatsTaken, Seats: 9, Factories: []string{"mac-1"}, Keys: []string{"FB-1", "FB-2", "FB-3"}, More: 6},
			want: "None of the 9 seats that can run it is free, on mac-1, held by FB-1, FB-2 and 7 more", icon: "server"},
		"claimed":      {why: screens.Reason{Code: screens.CodeClaimed, By: tenancy.Actor{Name: "claude-1"}, Factories: []string{"mac-1"}}, want: "claude-1 has claimed it on mac-1", icon: "bot"},
		"running":      {why: screens.Reason{Code: screens.CodeRunning, By: tenancy.Actor{Name: "claude-1"}, Factories: []string{"mac-1"}}, want: "claude-1 works on it on mac-1", icon: "bot"},
		"done":         {why: screens.Reason{Code: screens.CodeCompleted, By: tenancy.Actor{Name: "Jo"}}, want: "Done by Jo", icon: "circle-check", tone: ui.OK},
		"failed":       {why: screens.Reason{Code: screens.CodeFailed, Text: "boom"}, want: "Failed for good: boom", icon: "octagon-alert", tone: ui.Bad},
		"cycle":        {why: screens.Reason{Code: screens.CodeDependencyCycle, Text: "FB-1 waits for FB-2"}, want: "It waited for itself: FB-1 waits for FB-2", icon: "refresh-cw", tone: ui.Bad},
		"aborted":      {why: screens.Reason{Code: screens.CodeAborted, By: tenancy.Actor{Name: "Jo"}, Text: "not needed"}, want: "Cancelled by Jo: not needed", icon: "circle-x"},
		"archived":     {why: screens.Reason{Code: screens.CodeArchived, By: tenancy.Actor{Name: "Jo"}}, want: "Archived by Jo", icon: "archive"},
		"paused":       {job: jobs.Job{StatusBy: tenancy.Actor{Name: "Jonas Weber"}}, why: screens.Reason{Code: screens.CodePaused}, want: "Paused by Jonas Weber", icon: "circle-pause"},
		"paused later": {job: jobs.Job{StatusBy: tenancy.Actor{Name: "Jo"}, Checkpoint: json.RawMessage(`{"a":1}`)}, why: screens.Reason{Code: screens.CodePaused}, want: "Paused by Jo, checkpoint kept", icon: "circle-pause"},
		"blocked":      {why: screens.Reason{Code: screens.CodeBlocked, By: tenancy.Actor{Name: "Jo"}, Text: "no contract"}, want: "Blocked by Jo: no contract", icon: "circle-stop"},
		"question":     {why: screens.Reason{Code: screens.CodeQuestion, By: tenancy.Actor{Name: "claude-5"}, Text: "24 hours?"}, want: "claude-5 asks: 24 hours?", icon: "message-circle-question-mark"},
		"no capability": {why: screens.Reason{Code: screens.CodeNoFactory, Missing: []string{"engine:codex"}, Nearest: "linux-2", Text: fleet.ReasonMissing},
			want: "No live factory offers engine:codex. Nearest miss: linux-2", icon: "unplug", tone: ui.Warn},
		"no repo": {why: screens.Reason{Code: screens.CodeNoFactory, Missing: []string{"repo:billing-ui"}, Nearest: "mac-1", Text: fleet.ReasonMissing},
			want: "No live factory holds billing-ui. Nearest miss: mac-1", icon: "unplug", tone: ui.Warn},
		"drains": {why: screens.Reason{Code: screens.CodeNoFactory, Nearest: "linux-3", Text: fleet.ReasonDraining}, want: "Only linux-3 could run it, and it drains", icon: "unplug", tone: ui.Warn},
		"dead":   {why: screens.Reason{Code: screens.CodeNoFactory, Nearest: "linux-5", Text: fleet.ReasonDead}, want: "Only linux-5 could run it, and it is dead", icon: "unplug", tone: ui.Warn},
		"nobody": {why: screens.Reason{Code: screens.CodeNoFactory}, want: "No factory has reported yet", icon: "unplug", tone: ui.Warn},
		"named": {job: jobs.Job{Spec: jobs.Spec{Factory: "linux-9"}}, why: screens.Reason{Code: screens.CodeNoFactory,
			Nearest: "mac-1", Text: fleet.ReasonOtherFactory}, want: "It must run on linux-9, which is not there or lacks what it needs", icon: "unplug", tone: ui.Warn},
		"seats taken": {job: repo, why: screens.Reason{Code: screens.CodeSeatsTaken, Seats: 4, Factories: []string{"mac-1"}}, want: "None of the 4 seats that hold ios-client is free, on mac-1", icon: "server"},
		"one seat":    {why: screens.Reason{Code: screens.CodeSeatsTaken, Seats: 1, Factories: []string{"mac-1"}}, want: "The one seat that can run it is not free, on mac-1", icon: "server"},
		"can start":   {why: screens.Reason{Code: screens.CodeCanStart, Free: 2, Factories: []string{"linux-2"}}, want: "A seat is free on linux-2", icon: "circle-check", tone: ui.OK},
		"offered":     {why: screens.Reason{Code: screens.CodeOffered, Factories: []string{"mac-1"}, Until: &noon}, want: "Offered to mac-1 until 12:00 UTC", icon: "server"},
		"awaited": {why: screens.Reason{Code: screens.CodeAwaitsFactory, Factories: []string{"mac-1"}, Until: &noon},
			want: "Waits for a seat of the factory that has its files, mac-1, until 12:00 UTC", icon: "server"},
		"starts": {why: screens.Reason{Code: screens.CodeCanBeStarted, Pool: &pools.Start{Pool: "linux", ColdStart: 7900 * time.Millisecond}},
			want: "The pool linux can start a factory for it: about 8 s", icon: "server"},
		"starts some time": {why: screens.Reason{Code: screens.CodeCanBeStarted, Pool: &pools.Start{Pool: "linux"}},
			want: "The pool linux can start a factory for it", icon: "server"},
		"a full pool": {why: screens.Reason{Code: screens.CodePoolAtMaximum, Pool: &pools.Start{Pool: "linux", Maximum: 4}},
			want: "The pool linux has all its 4 factories; it waits until one of them is free", icon: "server", tone: ui.Warn},
		"a pool without its scaler": {why: screens.Reason{Code: screens.CodePoolStartsNone, Pool: &pools.Start{Pool: "linux", Stalled: true}},
			want: "The pool linux needs factories, and for ten minutes none was started. See whether its scaler runs", icon: "unplug", tone: ui.Warn},
		"a pool that lacks what it says": {why: screens.Reason{Code: screens.CodePoolStartsNone, Pool: &pools.Start{Pool: "linux", Lacks: []string{"engine:claude", "has:gpu"}}},
			want: "The pool linux says that its factories offer engine:claude and has:gpu, and they do not. Change the pool, or what its factories have", icon: "unplug", tone: ui.Warn},
		"in review": {job: jobs.Job{Result: json.RawMessage(`{"commit":"9be04d1f00","summary":7}`)}, why: screens.Reason{Code: screens.CodeInReview}, want: "Commit 9be04d1 waits for a review", icon: "eye"},
		"approved":  {why: screens.Reason{Code: screens.CodeApproved, By: tenancy.Actor{Name: "Priya Nair"}}, want: "Approved by Priya Nair, to be merged", icon: "git-merge"},
		"new code":  {why: screens.Reason{Code: "moon_phase"}, want: "Waits: moon phase", icon: "hourglass"},
	} {
		got := Model(test.job, test.why, noon)
		if got.Text.String() != test.want || got.Icon != test.icon || got.Tone != test.tone {
			t.Errorf("%s: %q with %s %q; want %q with %s %q", name, got.Text, got.Icon, got.Tone, test.want, test.icon, test.tone)
		}
	}
	if Model(jobs.Job{}, screens.Reason{}, noon) != nil {
		t.Error("a job without a reason has one")
	}
	linked := Text(jobs.Job{}, screens.Reason{Code: screens.CodeDependency, Keys: []string{"FB-1"}}, noon)
	if linked[1].Href != "/jobs/FB-1" {
		t.Errorf("the key leads to %q", linked[1].Href)
	}
}

// Every wait reason has its words: for a card, the page of its job and the history.
func TestEveryWaitReasonHasWords(t *testing.T) {
	for _, wait := range jobs.WaitReasons() {
		if w := table[string(wait)]; w.icon == "" || w.title == "" || w.text == nil || Held(wait) == "" {
			t.Errorf("%s lacks words: %+v", wait, w)
		}
	}
}

// A program gets moments, whenever it reads them.
func TestExactReasonsNameMoments(t *testing.T) {
	for want, why := range map[string]screens.Reason{
		"Not before 2025-11-21T18:00:00Z.":                         {Code: screens.CodeNotBefore, Until: in(6 * time.Hour)},
		"Retry 2 of 3 at 2025-11-21T12:05:00Z. Last: lint failed.": {Code: screens.CodeRetryBackoff, Until: in(5 * time.Minute), Text: "lint failed"},
		"Lost with many others, back at 2025-11-21T12:05:00Z.":     {Code: screens.CodeRetryBackoff, Until: in(5 * time.Minute), Lost: true},
		"Waits for FB-1 and FB-2.":                                 {Code: screens.CodeDependency, Keys: []string{"FB-1", "FB-2"}},
		"Blocked by Ann: no contract.":                             {Code: screens.CodeBlocked, By: tenancy.Actor{Name: "Ann"}, Text: "no contract"},
	} {
		if got := Exact(jobs.Job{FailureCount: 2, Spec: jobs.Spec{MaxRetries: 3}}, why); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
