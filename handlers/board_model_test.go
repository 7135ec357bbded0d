package handlers

import (
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"fleetboard/internal/fleet"
	"fleetboard/internal/jobs"
	"fleetboard/internal/kanban"
	"fleetboard/internal/tenancy"
	"fleetboard/views/links"
	"fleetboard/views/ui"
)

var noon = time.Date(2025, 11, 21, 12, 0, 0, 0, time.UTC)

func in(d time.Duration) *time.Time {
	at := noon.Add(d)
	return &at
}

func TestReasons(t *testing.T) {
	retried := jobs.Job{FailureCount: 2, MaxRetries: 3}
	repo := jobs.Job{Repo: "ios-client"}
	for name, test := range map[string]struct {
		job  jobs.Job
		why  kanban.Reason
		want string
		icon string
		tone ui.Tone
	}{
		"one dependency": {why: kanban.Reason{Code: kanban.CodeDependency, Keys: []string{"FB-1"}}, want: "Waits for FB-1", icon: "link"},
		"dependencies":   {why: kanban.Reason{Code: kanban.CodeDependency, Keys: []string{"FB-142", "FB-139"}}, want: "Waits for FB-142 and FB-139", icon: "link"},
		"many": {why: kanban.Reason{Code: kanban.CodeDependency, Keys: []string{"A", "B", "C", "D", "E"}},
			want: "Waits for A, B, C and 2 more", icon: "link"},
		"today":    {why: kanban.Reason{Code: kanban.CodeNotBefore, Until: in(6 * time.Hour)}, want: "Not before 18:00 UTC", icon: "calendar-clock"},
		"tomorrow": {why: kanban.Reason{Code: kanban.CodeNotBefore, Until: in(24 * time.Hour)}, want: "Not before 22 Nov 12:00 UTC", icon: "calendar-clock"},
		"retry": {job: retried, why: kanban.Reason{Code: kanban.CodeRetryBackoff, Until: in(250 * time.Second), Text: "lint failed\nin two files"},
			want: "Retry 2 of 3 in 4m 10s. Last: lint failed", icon: "timer-reset"},
		"retry due": {job: retried, why: kanban.Reason{Code: kanban.CodeRetryBackoff, Until: in(-time.Second)}, want: "Retry 2 of 3 now", icon: "timer-reset"},
		"repo busy": {job: repo, why: kanban.Reason{Code: kanban.CodeRepoBusy, Keys: []string{"FB-137"}}, want: "Repo busy: FB-137 holds ios-client", icon: "lock"},
		"repo worked on": {job: repo, why: kanban.Reason{Code: kanban.CodeRepoBusy, Keys: []string{"FB-137"}, By: tenancy.Actor{Name: "claude-1"}},
			want: "Repo busy: FB-137 holds ios-client, claude-1 works on it", icon: "lock"},
		"repo of somebody": {job: repo, why: kanban.Reason{Code: kanban.CodeRepoBusy}, want: "Repo busy: another job holds ios-client", icon: "lock"},
		"full review": {why: kanban.Reason{Code: kanban.CodeReviewBacklog, Product: "billing", Count: 5, Limit: 5},
			want: "Review queue of billing is full, 5 of 5 jobs in review", icon: "inbox"},
		"review with room": {why: kanban.Reason{Code: kanban.CodeReviewBacklog, Product: "billing", Count: 0, Limit: 1},
			want: "Review queue of billing has room again, 0 of 1 job in review", icon: "inbox"},
		"paused product": {why: kanban.Reason{Code: kanban.CodeProductPaused, Product: "billing"}, want: "Its product billing is paused", icon: "circle-pause"},
		"failed dependency": {why: kanban.Reason{Code: kanban.CodeDependencyFailed, Ended: []kanban.Ended{{Key: "FB-3", Status: jobs.Failed}}},
			want: "Waits for FB-3, which failed. Retry it or unlink it", icon: "octagon-alert", tone: ui.Warn},
		"cancelled dependency": {why: kanban.Reason{Code: kanban.CodeDependencyFailed, Ended: []kanban.Ended{{Key: "FB-3", Status: jobs.Aborted}}},
			want: "Waits for FB-3, which was cancelled. Retry it or unlink it", icon: "octagon-alert", tone: ui.Warn},
		"failed dependencies": {why: kanban.Reason{Code: kanban.CodeDependencyFailed, Ended: []kanban.Ended{{Key: "FB-3", Status: jobs.Failed}, {Key: "FB-4", Status: jobs.Aborted}}},
			want: "Waits for FB-3 and FB-4, which ended without success. Retry or unlink them", icon: "octagon-alert", tone: ui.Warn},
		"lost": {job: retried, why: kanban.Reason{Code: kanban.CodeRetryBackoff, Until: in(12 * time.Second), Text: "lint failed", Lost: true},
			want: "Lost with many others, back in 12s", icon: "timer-reset"},
		"no agent": {why: kanban.Reason{Code: kanban.CodeAgentsBusy, Seats: 4, Free: 1, Factories: []string{"mac-1"}}, want: "1 seat free, but no agent for it on mac-1", icon: "bot"},
		"seats of two": {why: kanban.Reason{Code: kanban.CodeSeatsTaken, Seats: 2, Factories: []string{"mac-1"}, Keys: []string{"FB-1", "FB-2"}},
			want: "None of the 2 seats that can run it is free, on mac-1, held by FB-1 and FB-2", icon: "server"},
		"seats of many": {why: kanban.Reason{Code: kanban.CodeSeatsTaken, Seats: 9, Factories: []string{"mac-1"}, Keys: []string{"FB-1", "FB-2", "FB-3"}, More: 6},
			want: "None of the 9 seats that can run it is free, on mac-1, held by FB-1, FB-2 and 7 more", icon: "server"},
		"claimed":      {why: kanban.Reason{Code: kanban.CodeClaimed, By: tenancy.Actor{Name: "claude-1"}, Factories: []string{"mac-1"}}, want: "claude-1 has claimed it on mac-1", icon: "bot"},
		"running":      {why: kanban.Reason{Code: kanban.CodeRunning, By: tenancy.Actor{Name: "claude-1"}, Factories: []string{"mac-1"}}, want: "claude-1 works on it on mac-1", icon: "bot"},
		"done":         {why: kanban.Reason{Code: kanban.CodeCompleted, By: tenancy.Actor{Name: "Jo"}}, want: "Done by Jo", icon: "circle-check", tone: ui.OK},
		"failed":       {why: kanban.Reason{Code: kanban.CodeFailed, Text: "boom"}, want: "Failed for good: boom", icon: "octagon-alert", tone: ui.Bad},
		"cycle":        {why: kanban.Reason{Code: kanban.CodeDependencyCycle, Text: "FB-1 waits for FB-2"}, want: "It waited for itself: FB-1 waits for FB-2", icon: "refresh-cw", tone: ui.Bad},
		"aborted":      {why: kanban.Reason{Code: kanban.CodeAborted, By: tenancy.Actor{Name: "Jo"}, Text: "not needed"}, want: "Cancelled by Jo: not needed", icon: "circle-x"},
		"archived":     {why: kanban.Reason{Code: kanban.CodeArchived, By: tenancy.Actor{Name: "Jo"}}, want: "Archived by Jo", icon: "archive"},
		"paused":       {job: jobs.Job{StatusBy: tenancy.Actor{Name: "Jonas Weber"}}, why: kanban.Reason{Code: kanban.CodePaused}, want: "Paused by Jonas Weber", icon: "circle-pause"},
		"paused later": {job: jobs.Job{StatusBy: tenancy.Actor{Name: "Jo"}, Checkpoint: json.RawMessage(`{"a":1}`)}, why: kanban.Reason{Code: kanban.CodePaused}, want: "Paused by Jo, checkpoint kept", icon: "circle-pause"},
		"blocked":      {why: kanban.Reason{Code: kanban.CodeBlocked, By: tenancy.Actor{Name: "Jo"}, Text: "no contract"}, want: "Blocked by Jo: no contract", icon: "circle-stop"},
		"question":     {why: kanban.Reason{Code: kanban.CodeQuestion, By: tenancy.Actor{Name: "claude-5"}, Text: "24 hours?"}, want: "claude-5 asks: 24 hours?", icon: "message-circle-question-mark"},
		"no capability": {why: kanban.Reason{Code: kanban.CodeNoFactory, Missing: []string{"engine:codex"}, Nearest: "linux-2", Text: fleet.ReasonMissing},
			want: "No live factory offers engine:codex. Nearest miss: linux-2", icon: "unplug", tone: ui.Warn},
		"no repo": {why: kanban.Reason{Code: kanban.CodeNoFactory, Missing: []string{"repo:billing-ui"}, Nearest: "mac-1", Text: fleet.ReasonMissing},
			want: "No live factory holds billing-ui. Nearest miss: mac-1", icon: "unplug", tone: ui.Warn},
		"drains":      {why: kanban.Reason{Code: kanban.CodeNoFactory, Nearest: "linux-3", Text: fleet.ReasonDraining}, want: "Only linux-3 could run it, and it drains", icon: "unplug", tone: ui.Warn},
		"dead":        {why: kanban.Reason{Code: kanban.CodeNoFactory, Nearest: "linux-5", Text: fleet.ReasonDead}, want: "Only linux-5 could run it, and it is dead", icon: "unplug", tone: ui.Warn},
		"nobody":      {why: kanban.Reason{Code: kanban.CodeNoFactory}, want: "No factory has reported yet", icon: "unplug", tone: ui.Warn},
		"named":       {job: jobs.Job{Factory: "linux-9"}, why: kanban.Reason{Code: kanban.CodeNoFactory, Nearest: "mac-1", Text: fleet.ReasonOtherFactory}, want: "It must run on linux-9, which is not there or lacks what it needs", icon: "unplug", tone: ui.Warn},
		"seats taken": {job: repo, why: kanban.Reason{Code: kanban.CodeSeatsTaken, Seats: 4, Factories: []string{"mac-1"}}, want: "None of the 4 seats that hold ios-client is free, on mac-1", icon: "server"},
		"one seat":    {why: kanban.Reason{Code: kanban.CodeSeatsTaken, Seats: 1, Factories: []string{"mac-1"}}, want: "The one seat that can run it is not free, on mac-1", icon: "server"},
		"can start":   {why: kanban.Reason{Code: kanban.CodeCanStart, Free: 2, Factories: []string{"linux-2"}}, want: "2 seats free on linux-2", icon: "circle-check", tone: ui.OK},
		"in review":   {job: jobs.Job{Result: json.RawMessage(`{"commit":"9be04d1f00","summary":7}`)}, why: kanban.Reason{Code: kanban.CodeInReview}, want: "Commit 9be04d1 waits for a review", icon: "eye"},
		"approved":    {why: kanban.Reason{Code: kanban.CodeApproved, By: tenancy.Actor{Name: "Priya Nair"}}, want: "Approved by Priya Nair, to be merged", icon: "git-merge"},
		"new code":    {why: kanban.Reason{Code: "moon_phase"}, want: "Waits: moon phase", icon: "hourglass"},
	} {
		got := reasonModel(test.job, test.why, noon)
		if got.Text.String() != test.want || got.Icon != test.icon || got.Tone != test.tone {
			t.Errorf("%s: %q with %s %q; want %q with %s %q", name, got.Text, got.Icon, got.Tone, test.want, test.icon, test.tone)
		}
	}
	if reasonModel(jobs.Job{}, kanban.Reason{}, noon) != nil {
		t.Error("a job without a reason has one")
	}
	linked := reasonText(jobs.Job{}, kanban.Reason{Code: kanban.CodeDependency, Keys: []string{"FB-1"}}, noon)
	if linked[1].Href != "/jobs/FB-1" {
		t.Errorf("the key leads to %q", linked[1].Href)
	}
}

// The buttons are the table of package jobs, whatever the status.
func TestActionsFollowTheTable(t *testing.T) {
	for _, status := range jobs.Statuses {
		var want []string
		for _, v := range verbs {
			if jobs.Can(status, v.by) && !v.hidden {
				want = append(want, string(v.by))
			}
		}
		var got []string
		for _, a := range actionsOf(jobs.Job{Key: "FB-1", Status: status}) {
			got = append(got, a.Verb)
			if a.URL != "/jobs/FB-1/"+a.Verb || a.Label == "" || a.Icon == "" {
				t.Errorf("%s: incomplete action %+v", status, a)
			}
			if a.Danger && a.Dialog == nil {
				t.Errorf("%s: %s asks nothing", status, a.Verb)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s offers %v, want %v", status, got, want)
		}
	}
	asked := jobs.Job{Status: jobs.Running, Lease: &jobs.Lease{Directive: "pause"}}
	for _, a := range actionsOf(asked) {
		if a.Verb == "pause" {
			t.Error("a pause is offered again")
		}
	}
}

// Every move of every status has words of its own.
func TestMovesHaveWords(t *testing.T) {
	for _, status := range jobs.Statuses {
		for _, to := range kanban.Columns {
			by, ok := kanban.MoveVerb(status, to)
			if !ok {
				if to != kanban.ColumnOf(status) && whyNot(status, to) == "" {
					t.Errorf("nothing says why %s does not go to %s", status, to)
				}
				continue
			}
			m := movesOf([]kanban.Move{{To: to, Verb: by}})[0]
			if !strings.HasPrefix(m.Label, columnTitles[to]+", ") {
				t.Errorf("%s to %s by %s is called %q", status, to, by, m.Label)
			}
		}
	}
}

func TestCards(t *testing.T) {
	l := look{canWrite: true, now: noon}
	percentDone := 62
	running := l.card(kanban.Card{Job: jobs.Job{Key: "FB-1", Status: jobs.Running, Repo: "ledger-api", Phase: "M2", CurrentStep: "Tests",
		ProgressPercent: &percentDone, ProgressAt: in(-11 * time.Minute),
		Lease: &jobs.Lease{Agent: "claude-2", Factory: "mac-1", ClaimedAt: noon.Add(-12 * time.Minute)}},
		Moves: []kanban.Move{{To: kanban.Failed, Verb: jobs.ByCancel}}})
	if running.Place != "ledger-api · M2" || running.Percent != 62 || running.Elapsed.Text != "12m" || !running.ProgressLate || running.Column != "running" {
		t.Errorf("running card %+v", running)
	}
	for _, a := range running.Actions {
		if a.Verb == "cancel" {
			t.Error("the menu offers to cancel twice")
		}
	}
	failed := l.card(kanban.Card{Job: jobs.Job{Key: "FB-2", Status: jobs.Failed, LastError: "checksum differs\nat line 3", StatusAt: noon.Add(-2 * time.Hour)}})
	if failed.Sub != "checksum differs" || failed.SubTone != ui.Bad || failed.Ended.Text != "2h" || failed.Column != "failed" {
		t.Errorf("failed row %+v", failed)
	}
	review := l.card(kanban.Card{Job: jobs.Job{Status: jobs.InReview, StatusAt: noon.Add(-130 * time.Minute)}, Why: kanban.Reason{Code: kanban.CodeInReview}})
	if !review.FootLate || review.FootWord != "in review" || review.Foot.Text != "2h 10m" {
		t.Errorf("card in review %+v", review)
	}
	if viewer := (look{now: noon}).card(kanban.Card{Job: jobs.Job{Status: jobs.Ready}, Moves: []kanban.Move{{To: kanban.Failed}}}); len(viewer.Moves)+len(viewer.Actions) > 0 {
		t.Errorf("a viewer may do %+v", viewer)
	}
}

// What a person has to see on a card: a question with the way to answer it, how
// often the job was lost, that its time is over, what was asked of its agent.
func TestCardsShowWhatWantsAttention(t *testing.T) {
	l := look{canWrite: true, now: noon}
	asked := l.card(kanban.Card{Job: jobs.Job{Key: "FB-3", Status: jobs.Blocked, Question: "24 hours?", StatusAt: noon, LostCount: 2, MaxLost: 5},
		Why: kanban.Reason{Code: kanban.CodeQuestion, By: tenancy.Actor{Name: "claude-5"}, Text: "24 hours?"}})
	if asked.Answer != "/jobs/FB-3#answer" || !asked.Reason.Ask || asked.FootWord != "asked" || asked.Lost != "lost 2×" {
		t.Errorf("card with a question %+v", asked)
	}
	late := l.card(kanban.Card{Job: jobs.Job{Status: jobs.Running, Lease: &jobs.Lease{WarnedAt: in(-time.Minute)}}})
	if late.Notice == nil || late.Notice.Text.String() != "Long past its estimate" {
		t.Errorf("card of an overdue job %+v", late.Notice)
	}
	asking := l.card(kanban.Card{Job: jobs.Job{Status: jobs.Running,
		Lease: &jobs.Lease{Directive: "cancel", DirectiveBy: tenancy.Actor{Name: "Jo"}, GraceEndsAt: in(40 * time.Second), WarnedAt: in(-time.Minute)}}})
	if asking.Notice == nil || asking.Notice.Text.String() != "Asked to stop by Jo, it has 40s" {
		t.Errorf("card of a job that is to stop %+v", asking.Notice)
	}
}

func TestFilterSurvivesItsLinks(t *testing.T) {
	p := 8
	want := links.Filter{Product: "default", Repo: "a/b", Factory: "mac-1", Phase: "M 2&x", Query: "50%", Priority: &p, Group: "repo", Unroutable: true}
	u, err := url.Parse(links.BoardWith(want))
	if err != nil {
		t.Fatal(err)
	}
	got := parseFilter(u.Query())
	if *got.Priority != 8 {
		t.Errorf("priority %d", *got.Priority)
	}
	got.Priority, want.Priority = nil, nil
	if got != want {
		t.Errorf("read back %+v, want %+v", got, want)
	}
	if n := len(activeFilters(want)); n != 6 {
		t.Errorf("%d chips, want 6", n)
	}
	for _, a := range activeFilters(links.Filter{Repo: "a", Phase: "b"}) {
		if strings.Contains(a.RemoveURL, "repo=") == strings.Contains(a.RemoveURL, "phase=") {
			t.Errorf("%s leads to %s", a.Text, a.RemoveURL)
		}
	}
	if long := parseFilter(url.Values{"repo": {strings.Repeat("x", 5000)}, "q": {"a\x00b"}}); !narrowed(long).Open() {
		t.Errorf("nonsense narrows: %+v", long)
	}
}

func TestWords(t *testing.T) {
	for got, want := range map[string]string{
		plural(1, "job", "jobs"):     "1 job",
		plural(1284, "job", "jobs"):  "1,284 jobs",
		and(nil):                     "",
		and([]string{"a", "b", "c"}): "a, b and c",
		firstLine(" a\nb", 9):        "a",
		firstLine("äöü and more", 5): "äöü…",
		nth(3):                       "third",
		nth(12):                      "12th",
		initials("Mara Ilić"):        "MI",
		initials("ada"):              "AD",
		initials("  "):               "?",
		boardTitle(9, false):         "Board (9 running)",
		boardTitle(0, false):         "Board",
		totalText(6000, true):        "6,000+ jobs",
		memoryText(512):              "512 MB",
		memoryText(5120):             "5.0 GB",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
