package timeline_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/e2e/handlertest"
	"github.com/fleetboard/fleetboard/handlers/timeline"
	"github.com/fleetboard/fleetboard/internal/dispatch/actions"
	"github.com/fleetboard/fleetboard/internal/dispatch/lease"
	"github.com/fleetboard/fleetboard/internal/dispatch/report"
	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// The timeline shows the life of a job, the newest first: who, when, from which
// status to which, and what else changed.
func TestTheTimelineTellsWhatHappened(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	d.Agent("claude-1")
	j := d.Job("Alpha")
	claimed := d.Claim(d.Agent("claude-2"))
	title, priority := "Beta", 8
	if _, err := d.Jobs.Patch(t.Context(), d.Owner, j.Key, jobs.Patch{Version: claimed.Version, Spec: jobs.Spec{Title: title,
		Priority: priority}, Set: []string{"title", "priority"}}); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Fleet.SetDraining(t.Context(), d.Owner, "factory-of-claude-1", true); err != nil {
		t.Fatal(err)
	}
	doc := d.Timeline("/timeline", handlertest.FirstStart+6)
	for kind, want := range map[string][]string{
		"created":    {"FB-1", "Ready", "Alpha", "Mara Ilić"},
		"claimed":    {"FB-1", "Ready", "Assigned", "on factory-of-claude-2", "claude-2 agent", "e1"},
		"edited":     {"FB-1", "title Alpha to Beta", "priority 5 to 8", "Mara Ilić person "},
		"drained":    {"factory-of-claude-1 takes no new jobs", "Mara Ilić"},
		"registered": {"claude-2 on factory-of-claude-2"},
	} {
		text := handlertest.Line(doc, kind)
		for _, w := range want {
			if !strings.Contains(text, w) {
				t.Errorf("%s says %q; want %q in it", kind, text, w)
			}
		}
	}
	if first := doc.Find("[data-event] .ev-k").First().Text(); first != "drained" {
		t.Errorf("the first line is %q; want the newest event", first)
	}
	handlertest.WantText(t, doc, "[data-day] h2", "Today")
	handlertest.WantCount(t, doc, "[data-day]", 1)
	handlertest.WantCount(t, doc, "[data-event] a[href='/jobs/FB-1']", 3)
	handlertest.WantCount(t, doc, "nav [href='/timeline'][aria-current=page]", 1)
	if handlertest.Line(doc, "created") == "" || strings.Contains(handlertest.Line(doc, "created"), "priority") {
		t.Errorf("a new job lists its fields: %q", handlertest.Line(doc, "created"))
	}
}

func TestTheTimelineIsNarrowed(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	d.Agent("claude-1")
	d.Job("Alpha")
	d.Job("Beta")
	if _, err := d.Dispatch.Act(t.Context(), d.Owner, "FB-1", actions.Action{Verb: jobs.ByPause}); err != nil {
		t.Fatal(err)
	}
	d.Logged(eventlog.Event{Type: eventlog.JobLost})
	d.Timeline("/timeline", handlertest.FirstStart+5)
	for path, want := range map[string]int{
		"/timeline?group=jobs": 4, "/timeline?group=agents": 1, "/timeline?group=recovery": 1, "/timeline?group=review": 0,
		"/timeline?group=products": 0, "/timeline?job=FB-1": 2, "/timeline?job=FB-2&group=jobs": 1, "/timeline?actor=reaper": 1,
		"/timeline?job=FB-1&job=FB-2&group=jobs": 3, "/timeline?group=agents&group=jobs": 5, "/timeline?actor=reaper&actor=set-up": handlertest.FirstStart + 1,
		"/timeline?actor=Mara+Ili%C4%87&job=FB-1": 2, "/timeline?group=settings": handlertest.FirstStart, "/timeline?actor=set-up": handlertest.FirstStart,
		"/timeline?group=nonsense": handlertest.FirstStart + 5, "/timeline?actor=" + strings.Repeat("x", 500): handlertest.FirstStart + 5,
	} {
		doc := handlertest.Page(t, d.Get(path), http.StatusOK)
		handlertest.WantCount(t, doc, "[data-event]", want)
		if want == 0 {
			handlertest.WantText(t, doc, ".empty", "No event matches")
		}
	}
	doc := handlertest.Page(t, d.Get("/timeline?group=jobs&job=FB-1"), http.StatusOK)
	handlertest.WantText(t, doc, ".tl-groups [aria-current]", "Jobs")
	handlertest.WantText(t, doc, ".chip-on", "Job FB-1")
	if out := doc.Find(".chip-on a").AttrOr("href", ""); out != "/timeline?group=jobs" {
		t.Errorf("the chip leads to %q", out)
	}
	handlertest.WantCount(t, doc, "form[action='/timeline'] input[type=hidden][name=group][value=jobs]", 1)
	doc = handlertest.Page(t, d.Get("/timeline?group=jobs&job=FB-1&job=FB-2"), http.StatusOK)
	handlertest.WantCount(t, doc, ".chip-on a[href='/timeline?group=jobs&job=FB-1'], .chip-on a[href='/timeline?group=jobs&job=FB-2']", 2)
	handlertest.WantCount(t, doc, ".tl-groups a[href='/timeline?group=jobs&group=review&job=FB-1&job=FB-2']", 1)
	handlertest.WantCount(t, doc, "form[action='/timeline'] input[type=hidden][name=job]", 2)
	none := handlertest.Page(t, d.Get("/timeline?job=FB-99"), http.StatusOK)
	handlertest.WantText(t, none, ".empty", "There is no job FB-99")
	handlertest.WantCount(t, none, "#live", 0)
	handlertest.Read(t, d.Get("/timeline?before=nonsense"), http.StatusBadRequest)
	handlertest.Page(t, d.As(tenancy.RoleViewer).Get("/timeline"), http.StatusOK)
}

// Older parts follow one another without loss or repetition, as pages and as
// what htmx adds to the list.
func TestTheTimelineGoesBackToTheFirstEvent(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	dbfactory.AnyFacts(t, d.DB)
	for i := range 119 {
		d.Logged(eventlog.Event{Type: eventlog.Type(fmt.Sprintf("job.note_%d", i))})
	}
	d.Logged(eventlog.Event{Type: "job.note_119", Actor: tenancy.Actor{Kind: tenancy.KindSystem, Name: "the last"}})
	d.Timeline("/timeline?actor=the+last", 1)
	seen := map[string]bool{}
	path := "/timeline"
	for parts := 0; path != ""; parts++ {
		doc := handlertest.Page(t, d.Get(path), http.StatusOK)
		doc.Find("[data-event]").Each(func(_ int, e *goquery.Selection) {
			if id := e.AttrOr("id", ""); seen[id] {
				t.Errorf("%s comes twice", id)
			} else {
				seen[id] = true
			}
		})
		handlertest.WantCount(t, doc, "#live", map[bool]int{true: 1, false: 0}[parts == 0])
		path = doc.Find(".tl-more a").AttrOr("href", "")
		if parts > 2 {
			t.Fatal("the timeline does not end")
		}
	}
	if len(seen) != handlertest.FirstStart+120 {
		t.Errorf("%d events on all parts; want %d", len(seen), handlertest.FirstStart+120)
	}
	r := handlertest.Request(http.MethodGet, handlertest.Page(t, d.Get("/timeline"), http.StatusOK).Find(".tl-more a").AttrOr("hx-get", ""), nil)
	r.Header.Set("HX-Request", "true")
	part := handlertest.Page(t, d.Do(r), http.StatusOK)
	handlertest.WantCount(t, part, "[data-event]", timeline.TimelineSize)
	handlertest.WantCount(t, part, "h1", 0)
	handlertest.WantCount(t, part, ".tl-more", 1)
}

// The tokens of the first start are nobody's doing, and whom somebody invited is
// for those who manage members.
func TestTheTimelineNamesNobodyWhoWasNotThere(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	d.Did("Ada", eventlog.MemberInvited, `{"email":"bob@example.org","role":"member"}`)
	doc := d.Timeline("/timeline", handlertest.FirstStart+1)
	handlertest.WantCount(t, doc, "[data-event] a[href='/timeline?actor=set-up']", handlertest.FirstStart)
	handlertest.WantText(t, doc, ".tl", "invited bob@example.org as member")
	doc = handlertest.Page(t, d.As(tenancy.RoleViewer).Get("/timeline"), http.StatusOK)
	handlertest.WantText(t, doc, ".tl", "invited somebody as member")
	if strings.Contains(doc.Text(), "bob@example.org") {
		t.Error("a viewer reads whom somebody invited")
	}
}

func TestAnEmptyTimelineSaysSo(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	dbfactory.Exec(t, d.DB, "DELETE FROM event")
	doc := handlertest.Page(t, d.Get("/timeline"), http.StatusOK)
	handlertest.WantText(t, doc, ".empty", "Nothing has happened yet")
	handlertest.WantCount(t, doc, ".tl-more", 0)
	handlertest.WantCount(t, doc, "#timeline-new", 1)
}

// People of one name, and one who calls himself as a loop does, can be distinguished,
// and what somebody did is found also under a former name.
func TestTheTimelineTellsPeopleOfOneNameApart(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	person := func(id, name string) tenancy.Actor {
		return tenancy.Actor{Kind: tenancy.KindPerson, ID: id, Name: name}
	}
	for _, a := range []tenancy.Actor{person("0198-aaaaaa", "Ada"), person("0198-bbbbbb", "Ada"), person("0198-bbbbbb", "reaper"), {}} {
		d.Logged(eventlog.Event{Type: eventlog.JobLost, Actor: a})
	}
	doc := d.Timeline("/timeline?group=recovery", 4)
	var who []string
	doc.Find("[data-event] .ev-a").Each(func(_ int, e *goquery.Selection) { who = append(who, strings.Join(strings.Fields(e.Text()), " ")) })
	if got, want := strings.Join(who, ", "), "reaper system, reaper person bbbbbb, Ada person bbbbbb, Ada person aaaaaa"; got != want {
		t.Errorf("the lines name %s; want %s", got, want)
	}
	doc = handlertest.Page(t, d.Get("/timeline?actor=0198-bbbbbb"), http.StatusOK)
	handlertest.WantCount(t, doc, "[data-event]", 2)
	handlertest.WantText(t, doc, ".chips-on", "By reaper (person bbbbbb)")
}

// Whatever agents and people write is shown as text.
func TestTheTimelineShowsHostileTextAsText(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	dbfactory.AnyFacts(t, d.DB)
	bad := `"><script>alert(1)</script><img src=x onerror=alert(1)>`
	d.Job("Alpha " + bad)
	d.Logged(eventlog.Event{Type: eventlog.JobEdited, Actor: tenancy.Actor{Kind: tenancy.Kind(bad), ID: bad, Name: bad}, Payload: []byte(`{"reason":"` + `<b>x</b>` + `"}`),
		Changes: []eventlog.Change{{Field: bad, Old: bad, New: []any{bad, nil, map[string]any{bad: bad}}}, {Field: "status", Old: bad, New: 7}}})
	d.Logged(eventlog.Event{Type: eventlog.JobLinked, Payload: []byte(`{"type":"<i>","job":"javascript:alert(1)"}`)})
	d.Logged(eventlog.Event{Type: eventlog.JobCompacted, Payload: []byte(`{"events":"many"}`)})
	d.Logged(eventlog.Event{Type: "job.<u>odd</u>", Payload: []byte(`[]`)})
	doc := d.Timeline("/timeline", handlertest.FirstStart+5)
	handlertest.WantCount(t, doc, ".tl script, .tl img, .tl b b, .tl i, .tl u", 0)
	handlertest.WantCount(t, doc, ".tl a[href^='javascript']", 0)
	handlertest.WantText(t, doc, ".tl", "<script>alert(1)")
}

// The stream counts what passes the page's filter, and touches nothing else.
func TestTheTimelineCountsWhatIsNew(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	d.Job("Alpha")
	d.Timeline("/timeline", handlertest.FirstStart+1)
	base := d.Listen(t)
	target := d.LiveURL("/timeline?group=jobs&group=review")
	s := d.Stream(t, base+target, "")
	d.Agent("claude-1") // not of the group
	d.Job("Beta")
	m := s.Until("new event")
	doc := handlertest.Parse(t, m.Data)
	handlertest.WantText(t, doc, "[hx-target='#timeline-new'] a[href='/timeline?group=jobs&group=review']", "1 new event")
	handlertest.WantCount(t, doc, "[data-event]", 0)
	d.Job("Gamma")
	s.Until("2 new events")

	// A reader that comes back gets all that its page does not show.
	d.Job("Delta")
	s.Until("3 new events")
	_, at, err := d.Events.Tail(t.Context(), d.Owner, eventlog.Cursor{}, 100)
	if err != nil {
		t.Fatal(err)
	}
	back := d.Stream(t, base+target, at.String())
	d.Job("Epsilon")
	back.Until("4 new events")

	// The page that the button loads shows them, and counts from there.
	d.Timeline("/timeline?group=jobs", 5)
	fresh := d.Stream(t, base+d.LiveURL("/timeline?group=jobs"), "")
	d.Job("Zeta")
	fresh.Until("1 new event")
}

// After a long break, or while very much happens, it says that there is much.
func TestTheTimelineDoesNotCountForEver(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	target := d.Listen(t) + d.LiveURL("/timeline")
	batch := make([]jobs.New, 1000)
	for i := range batch {
		batch[i].Title = "One of many"
	}
	for range 2 {
		if _, err := d.Jobs.Create(t.Context(), d.Owner, nil, batch...); err != nil {
			t.Fatal(err)
		}
	}
	s := d.Stream(t, target, "")
	s.Until("99+ new events")
}

func TestTheStreamOfATimelineRefusesNonsense(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	base := d.Listen(t)
	for target, status := range map[string]int{
		"/live?on=timeline&job=FB-9":                                http.StatusNotFound,
		"/live?on=timeline&after=" + url.QueryEscape("1-1\nx"):      http.StatusBadRequest,
		"/live?on=timeline&after=18446744073709551616-1&group=jobs": http.StatusBadRequest,
	} {
		if res := d.Open(t, base+target, ""); res.StatusCode != status {
			t.Errorf("%s answers %d, want %d", target, res.StatusCode, status)
		}
	}
}

// The progress that an attempt reports in a row is one row of the timeline, which opens.
func TestTheTimelineFoldsProgress(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	agent, j := d.Working()
	for n := range 6 {
		done := 10 * n
		if _, err := d.OtherProcess.Progress(t.Context(), agent, lease.Ref{Job: j.Key, Epoch: j.Epoch}, report.Progress{Percent: &done}); err != nil {
			t.Fatal(err)
		}
	}
	handlertest.WantCount(t, handlertest.Page(t, d.Get("/timeline?job=FB-1"), http.StatusOK), "[data-event]:has(.ev-k:contains('progress'))", 0)
	doc := d.Timeline("/timeline?job=FB-1&progress=1", 9)
	handlertest.WantText(t, doc, ".tl > [data-event]:nth-child(2)", "50%, was 40%")
	handlertest.WantText(t, doc, ".tl-fold summary", "and 5 more reports of FB-1")
	handlertest.WantCount(t, doc, ".tl-fold details ol > [data-event]", 5)
	handlertest.WantCount(t, doc, ".tl > [data-event]", 4)
}

// A line says which job it is about, and the fields suggest jobs by their titles, the
// people and agents of the page, and the agents of the fleet.
func TestTheTimelineNamesJobsAndSuggests(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	d.Agent("claude-2")
	j := d.Job("Alpha <b>")
	d.Claim(d.Agent("claude-1"))
	doc := d.Timeline("/timeline", handlertest.FirstStart+4)
	claimed := doc.Find("[data-event]:has(.ev-k:contains('claimed'))")
	if got := claimed.Find(".tl-n").Text(); got != "Alpha <b>" {
		t.Errorf("the claim names %q", got)
	}
	handlertest.WantCount(t, doc, "[data-event]:has(.ev-k:contains('created')) .tl-n", 0)
	if label := doc.Find("#tl-jobs option[value="+j.Key+"]").AttrOr("label", ""); label != "Alpha <b>" {
		t.Errorf("the job is suggested as %q", label)
	}
	for _, actor := range []string{"claude-1", "claude-2", d.Owner.Name} {
		handlertest.WantCount(t, doc, `#tl-actors option[value="`+actor+`"]`, 1)
	}
	handlertest.WantCount(t, handlertest.Page(t, d.Get("/timeline?job="+j.Key), http.StatusOK), ".tl-n", 0)
}

// By job, events stand under the title of theirs, and the filters keep that.
func TestTheTimelineByJob(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	d.Job("Alpha")
	d.Job("Beta")
	d.Claim(d.Agent("claude-1"))
	doc := d.Timeline("/timeline?by=job", handlertest.FirstStart+4)
	handlertest.WantCount(t, doc, ".tl-day:has(a[href='/jobs/FB-1'])", 1)
	handlertest.WantText(t, doc, ".tl-day:has(a[href='/jobs/FB-1'])", "Alpha")
	handlertest.WantCount(t, doc, ".tl-f input[name=by][value=job]", 1)
	handlertest.WantCount(t, doc, ".tl-groups a[href='/timeline?by=job&group=review']", 1)
}
