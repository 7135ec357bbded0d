package board

import (
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/jobs/status"
	"github.com/fleetboard/fleetboard/internal/screens"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	"github.com/fleetboard/fleetboard/views/links"
	"github.com/fleetboard/fleetboard/views/ui"
)

var noon = time.Date(2025, 11, 21, 12, 0, 0, 0, time.UTC)

// in returns a moment that far after noon.
func in(d time.Duration) *time.Time {
	at := noon.Add(d)
	return &at
}

func TestCards(t *testing.T) {
	l := boardView{canWrite: true, now: noon}
	percentDone := 62
	running := l.card(screens.Card{Job: jobs.Job{Key: "FB-1", Status: jobs.Running, Spec: jobs.Spec{Repo: "ledger-api", Phase: "M2"},
		CurrentStep:     "Tests",
		ProgressPercent: &percentDone, ProgressAt: in(-11 * time.Minute),
		Lease: &jobs.Lease{Agent: "claude-2", Factory: "mac-1", ClaimedAt: noon.Add(-12 * time.Minute)}},
		Moves: []screens.Move{{To: screens.Failed, Verb: jobs.ByCancel}}})
	if running.Place != "ledger-api · M2" || running.Percent != 62 || running.Elapsed.Text != "12m" || !running.ProgressLate || running.Column != "running" {
		t.Errorf("running card %+v", running)
	}
	for _, a := range running.Actions {
		if a.Verb == "cancel" {
			t.Error("the menu offers to cancel twice")
		}
	}
	failed := l.card(screens.Card{Job: jobs.Job{Key: "FB-2", Status: jobs.Failed, LastError: "checksum differs\nat line 3", StatusAt: noon.Add(-2 * time.Hour)}})
	if failed.Sub != "checksum differs" || failed.SubTone != ui.Bad || failed.Ended.Text != "2h" || failed.Column != "failed" {
		t.Errorf("failed row %+v", failed)
	}
	review := l.card(screens.Card{Job: jobs.Job{Status: jobs.InReview, StatusAt: noon.Add(-130 * time.Minute)}, Why: screens.Reason{Code: screens.CodeInReview}})
	if !review.FootLate || review.FootWord != "in review" || review.Foot.Text != "2h 10m" {
		t.Errorf("card in review %+v", review)
	}
	if viewer := (boardView{now: noon}).card(screens.Card{Job: jobs.Job{Status: jobs.Ready}, Moves: []screens.Move{{To: screens.Failed}}}); len(viewer.Moves)+len(viewer.Actions) > 0 {
		t.Errorf("a viewer may do %+v", viewer)
	}
}

// What a person has to see on a card: a question with the way to answer it, how
// often the job was lost, that its time is over, the directive for its agent.
func TestCardsShowWhatWantsAttention(t *testing.T) {
	l := boardView{canWrite: true, now: noon}
	asked := l.card(screens.Card{Job: jobs.Job{Key: "FB-3", Status: jobs.Blocked, Question: "24 hours?", StatusAt: noon, LostCount: 2, MaxLost: 5},
		Why: screens.Reason{Code: screens.CodeQuestion, By: tenancy.Actor{Name: "claude-5"}, Text: "24 hours?"}})
	if asked.Answer != "/jobs/FB-3#question" || !asked.Reason.Ask || asked.FootWord != "asked" || asked.Lost != "lost 2×" {
		t.Errorf("card with a question %+v", asked)
	}
	minutes := 30
	for over, elapsed := range map[bool]time.Duration{false: 29 * time.Minute, true: 31 * time.Minute} {
		c := l.card(screens.Card{Job: jobs.Job{Status: jobs.Running, Spec: jobs.Spec{EstimatedMinutes: &minutes},
			Lease: &jobs.Lease{ClaimedAt: noon.Add(-elapsed)}}})
		if c.Over.Text != "over its estimate of 30 min" || c.Over.Now != over {
			t.Errorf("card after %v %+v", elapsed, c.Over)
		}
	}
	late := l.card(screens.Card{Job: jobs.Job{Status: jobs.Running, Lease: &jobs.Lease{WarnedAt: in(-time.Minute)}}})
	if late.Notice == nil || late.Notice.Text.String() != "Long past its estimate" {
		t.Errorf("card of an overdue job %+v", late.Notice)
	}
	asking := l.card(screens.Card{Job: jobs.Job{Status: jobs.Running,
		Lease: &jobs.Lease{Directive: "cancel", DirectiveBy: tenancy.Actor{Name: "Jo"}, GraceEndsAt: in(40 * time.Second), WarnedAt: in(-time.Minute)}}})
	if asking.Notice == nil || asking.Notice.Text.String() != "Cancelling… asked by Jo, the agent has 40s" || asking.Status != status.Cancelling {
		t.Errorf("card of a job that is to stop %+v", asking.Notice)
	}
}

func TestFilterSurvivesItsLinks(t *testing.T) {
	p := 8
	want := links.Filter{Products: []string{"default", "ledger"}, Repos: []string{"a/b"}, Factories: []string{"mac-1"}, Phases: []string{"M 2&x"}, Query: "50%", Priority: &p, Group: "repo", Unroutable: true}
	u, err := url.Parse(links.BoardWith(want))
	if err != nil {
		t.Fatal(err)
	}
	got, err := parseFilter(u.Query())
	if err != nil || *got.Priority != 8 {
		t.Errorf("priority %d", *got.Priority)
	}
	got.Priority, want.Priority = nil, nil
	if !reflect.DeepEqual(got, want) {
		t.Errorf("read back %+v, want %+v", got, want)
	}
	if n := len(activeFilters(want)); n != 7 {
		t.Errorf("%d chips, want 7", n)
	}
	for _, a := range activeFilters(want)[:2] {
		if strings.Contains(a.RemoveURL, "product=default") == strings.Contains(a.RemoveURL, "product=ledger") {
			t.Errorf("%s leads to %s", a.Text, a.RemoveURL)
		}
	}
	for _, a := range activeFilters(links.Filter{Repos: []string{"a"}, Phases: []string{"b"}}) {
		if strings.Contains(a.RemoveURL, "repo=") == strings.Contains(a.RemoveURL, "phase=") {
			t.Errorf("%s leads to %s", a.Text, a.RemoveURL)
		}
	}
	if long, err := parseFilter(url.Values{"repo": {strings.Repeat("x", 5000)}, "q": {"a\x00b"}}); err != nil || !narrowed(long).IsZero() {
		t.Errorf("nonsense narrows: %+v", long)
	}
}

func TestWords(t *testing.T) {
	for got, want := range map[string]string{
		boardTitle(9, false):  "Board (9 running)",
		boardTitle(0, false):  "Board",
		totalText(6000, true): "6,000+ jobs",
	} {
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// The row names who decided, and who carried it out beside, whatever either is called.
func TestACancelledRowNamesWhoDecided(t *testing.T) {
	j := jobs.Job{Status: jobs.Aborted, StatusBy: tenancy.Actor{Kind: tenancy.KindPerson, ID: "1", Name: "reaper"},
		CarriedOutBy: tenancy.Actor{Kind: tenancy.KindSystem, ID: "reaper", Name: "reaper"}, LastError: "not needed"}
	if got, want := (boardView{now: noon}).card(screens.Card{Job: j}).Sub, "cancelled by reaper (carried out by the coordinator)"; got != want {
		t.Errorf("the row says %q, want %q", got, want)
	}
}
