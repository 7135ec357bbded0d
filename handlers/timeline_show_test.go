package handlers

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"

	"fleetboard/db"
	"fleetboard/db/dbfactory"
	"fleetboard/internal/dispatch"
	"fleetboard/internal/eventlog"
	"fleetboard/internal/jobs"
	"fleetboard/internal/tenancy"
)

// firstStart is how many events the first start writes: of its two tokens.
const firstStart = 2

// logged writes a fact as the server would.
func (d *desk) logged(e eventlog.Event) {
	d.t.Helper()
	if e.Actor == (tenancy.Actor{}) {
		e.Actor = tenancy.Actor{Kind: tenancy.KindSystem, Name: "reaper"}
	}
	err := d.db.InWorkspace(d.t.Context(), d.workspace, func(tx db.Tx) error {
		return eventlog.AppendTx(d.t.Context(), tx, d.workspace, e)
	})
	if err != nil {
		d.t.Fatal(err)
	}
}

// timeline reads the page once it shows n events: a transaction that runs
// anywhere on the server keeps back what came after it.
func (d *desk) timeline(path string, n int) *goquery.Document {
	d.t.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	shown := 0
	for range 20 * int(patience/time.Second) {
		doc := page(d.t, d.get(path), http.StatusOK)
		if shown = doc.Find("[data-event]").Length(); shown == n {
			return doc
		}
		<-tick.C
	}
	d.t.Fatalf("%s shows %d events; want %d", path, shown, n)
	return nil
}

// line is the text of the newest event of a kind.
func line(doc *goquery.Document, kind string) string {
	text := ""
	doc.Find("[data-event]").EachWithBreak(func(_ int, e *goquery.Selection) bool {
		if e.Find(".ev-k").Text() == kind {
			text = strings.Join(strings.Fields(e.Text()), " ")
			return false
		}
		return true
	})
	return text
}

// The timeline tells the life of a job, the newest first: who, when, from which
// status to which, and what else changed.
func TestTheTimelineTellsWhatHappened(t *testing.T) {
	d := newDesk(t)
	d.agent("claude-1")
	j := d.job("Alpha")
	claimed := d.claim(d.agent("claude-2"))
	title, priority := "Beta", 8
	if _, err := d.Jobs.Patch(t.Context(), d.owner, j.Key, jobs.Patch{Version: claimed.Version, Title: &title, Priority: &priority}); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Fleet.SetDraining(t.Context(), d.owner, "factory-of-claude-1", true); err != nil {
		t.Fatal(err)
	}
	doc := d.timeline("/timeline", firstStart+6)
	for kind, want := range map[string][]string{
		"created":    {"FB-1", "Ready", "Alpha", "Mara Ilić"},
		"claimed":    {"FB-1", "Ready", "Assigned", "on factory-of-claude-2", "claude-2 agent", "e1"},
		"edited":     {"FB-1", "title Alpha to Beta", "priority 5 to 8", "Mara Ilić person "},
		"drained":    {"factory-of-claude-1 takes no new jobs", "Mara Ilić"},
		"registered": {"claude-2 on factory-of-claude-2"},
	} {
		text := line(doc, kind)
		for _, w := range want {
			if !strings.Contains(text, w) {
				t.Errorf("%s says %q; want %q in it", kind, text, w)
			}
		}
	}
	if first := doc.Find("[data-event] .ev-k").First().Text(); first != "drained" {
		t.Errorf("the first line is %q; want the newest event", first)
	}
	wantText(t, doc, "[data-day] h2", "Today")
	wantCount(t, doc, "[data-day]", 1)
	wantCount(t, doc, "[data-event] a[href='/jobs/FB-1']", 3)
	wantCount(t, doc, "nav [href='/timeline'][aria-current=page]", 1)
	if line(doc, "created") == "" || strings.Contains(line(doc, "created"), "priority") {
		t.Errorf("a new job lists its fields: %q", line(doc, "created"))
	}
}

func TestTheTimelineIsNarrowed(t *testing.T) {
	d := newDesk(t)
	d.agent("claude-1")
	d.job("Alpha")
	d.job("Beta")
	if _, err := d.Dispatch.Act(t.Context(), d.owner, "FB-1", dispatch.Action{Verb: jobs.ByPause}); err != nil {
		t.Fatal(err)
	}
	d.logged(eventlog.Event{Type: eventlog.JobLost})
	d.timeline("/timeline", firstStart+5)
	for path, want := range map[string]int{
		"/timeline?group=jobs": 4, "/timeline?group=agents": 1, "/timeline?group=recovery": 1, "/timeline?group=review": 0,
		"/timeline?group=products": 0, "/timeline?job=FB-1": 2, "/timeline?job=FB-2&group=jobs": 1, "/timeline?actor=reaper": 1,
		"/timeline?actor=Mara+Ili%C4%87&job=FB-1": 2, "/timeline?group=settings": firstStart, "/timeline?actor=set-up": firstStart,
		"/timeline?group=nonsense": firstStart + 5, "/timeline?actor=" + strings.Repeat("x", 500): firstStart + 5,
	} {
		doc := page(t, d.get(path), http.StatusOK)
		wantCount(t, doc, "[data-event]", want)
		if want == 0 {
			wantText(t, doc, ".empty", "No event matches")
		}
	}
	doc := page(t, d.get("/timeline?group=jobs&job=FB-1"), http.StatusOK)
	wantText(t, doc, ".tl-groups [aria-current]", "Jobs")
	wantText(t, doc, ".chip-on", "Job FB-1")
	if out := doc.Find(".chip-on a").AttrOr("href", ""); out != "/timeline?group=jobs" {
		t.Errorf("the chip leads to %q", out)
	}
	wantCount(t, doc, "form[action='/timeline'] input[type=hidden][name=group][value=jobs]", 1)
	none := page(t, d.get("/timeline?job=FB-99"), http.StatusOK)
	wantText(t, none, ".empty", "There is no job FB-99")
	wantCount(t, none, "#live", 0)
	read(t, d.get("/timeline?before=nonsense"), http.StatusBadRequest)
	page(t, d.as(tenancy.RoleViewer).get("/timeline"), http.StatusOK)
}

// Older parts follow one another without loss or repetition, as pages and as
// what htmx adds to the list.
func TestTheTimelineGoesBackToTheFirstEvent(t *testing.T) {
	d := newDesk(t)
	dbfactory.AnyFacts(t, d.db)
	for i := range 119 {
		d.logged(eventlog.Event{Type: eventlog.Type(fmt.Sprintf("job.note_%d", i))})
	}
	d.logged(eventlog.Event{Type: "job.note_119", Actor: tenancy.Actor{Kind: tenancy.KindSystem, Name: "the last"}})
	d.timeline("/timeline?actor=the+last", 1)
	seen := map[string]bool{}
	path := "/timeline"
	for parts := 0; path != ""; parts++ {
		doc := page(t, d.get(path), http.StatusOK)
		doc.Find("[data-event]").Each(func(_ int, e *goquery.Selection) {
			if id := e.AttrOr("id", ""); seen[id] {
				t.Errorf("%s comes twice", id)
			} else {
				seen[id] = true
			}
		})
		wantCount(t, doc, "#live", map[bool]int{true: 1, false: 0}[parts == 0])
		path = doc.Find(".tl-more a").AttrOr("href", "")
		if parts > 2 {
			t.Fatal("the timeline does not end")
		}
	}
	if len(seen) != firstStart+120 {
		t.Errorf("%d events on all parts; want %d", len(seen), firstStart+120)
	}
	r := request(http.MethodGet, page(t, d.get("/timeline"), http.StatusOK).Find(".tl-more a").AttrOr("hx-get", ""), nil)
	r.Header.Set("HX-Request", "true")
	part := page(t, d.do(r), http.StatusOK)
	wantCount(t, part, "[data-event]", timelineSize)
	wantCount(t, part, "h1", 0)
	wantCount(t, part, ".tl-more", 1)
}

// The tokens of the first start are nobody's doing, and whom somebody invited is
// for those who manage members.
func TestTheTimelineNamesNobodyWhoWasNotThere(t *testing.T) {
	d := newDesk(t)
	d.did("Ada", eventlog.MemberInvited, `{"email":"bob@example.org","role":"member"}`)
	doc := d.timeline("/timeline", firstStart+1)
	wantCount(t, doc, "[data-event] a[href='/timeline?actor=set-up']", firstStart)
	wantText(t, doc, ".tl", "invited bob@example.org as member")
	doc = page(t, d.as(tenancy.RoleViewer).get("/timeline"), http.StatusOK)
	wantText(t, doc, ".tl", "invited somebody as member")
	if strings.Contains(doc.Text(), "bob@example.org") {
		t.Error("a viewer reads whom somebody invited")
	}
}

func TestAnEmptyTimelineSaysSo(t *testing.T) {
	d := newDesk(t)
	dbfactory.Exec(t, d.db, "DELETE FROM event")
	doc := page(t, d.get("/timeline"), http.StatusOK)
	wantText(t, doc, ".empty", "Nothing has happened yet")
	wantCount(t, doc, ".tl-more", 0)
	wantCount(t, doc, "#timeline-new", 1)
}

// People of one name, and one who calls himself as a loop does, can be told apart,
// and what somebody did is found also under a former name.
func TestTheTimelineTellsPeopleOfOneNameApart(t *testing.T) {
	d := newDesk(t)
	person := func(id, name string) tenancy.Actor {
		return tenancy.Actor{Kind: tenancy.KindPerson, ID: id, Name: name}
	}
	for _, a := range []tenancy.Actor{person("0198-aaaaaa", "Ada"), person("0198-bbbbbb", "Ada"), person("0198-bbbbbb", "reaper"), {}} {
		d.logged(eventlog.Event{Type: eventlog.JobLost, Actor: a})
	}
	doc := d.timeline("/timeline?group=recovery", 4)
	var who []string
	doc.Find("[data-event] .ev-a").Each(func(_ int, e *goquery.Selection) { who = append(who, strings.Join(strings.Fields(e.Text()), " ")) })
	if got, want := strings.Join(who, ", "), "reaper system, reaper person bbbbbb, Ada person bbbbbb, Ada person aaaaaa"; got != want {
		t.Errorf("the lines name %s; want %s", got, want)
	}
	doc = page(t, d.get("/timeline?actor=0198-bbbbbb"), http.StatusOK)
	wantCount(t, doc, "[data-event]", 2)
	wantText(t, doc, ".chips-on", "By reaper (person bbbbbb)")
}

// Whatever agents and people write is shown as text.
func TestTheTimelineShowsHostileTextAsText(t *testing.T) {
	d := newDesk(t)
	dbfactory.AnyFacts(t, d.db)
	bad := `"><script>alert(1)</script><img src=x onerror=alert(1)>`
	d.job("Alpha " + bad)
	d.logged(eventlog.Event{Type: eventlog.JobEdited, Actor: tenancy.Actor{Kind: tenancy.Kind(bad), ID: bad, Name: bad}, Payload: []byte(`{"reason":"` + `<b>x</b>` + `"}`),
		Changes: []eventlog.Change{{Field: bad, Old: bad, New: []any{bad, nil, map[string]any{bad: bad}}}, {Field: "status", Old: bad, New: 7}}})
	d.logged(eventlog.Event{Type: eventlog.JobLinked, Payload: []byte(`{"type":"<i>","job":"javascript:alert(1)"}`)})
	d.logged(eventlog.Event{Type: eventlog.JobCompacted, Payload: []byte(`{"events":"many"}`)})
	d.logged(eventlog.Event{Type: "job.<u>odd</u>", Payload: []byte(`[]`)})
	doc := d.timeline("/timeline", firstStart+5)
	wantCount(t, doc, ".tl script, .tl img, .tl b b, .tl i, .tl u", 0)
	wantCount(t, doc, ".tl a[href^='javascript']", 0)
	wantText(t, doc, ".tl", "<script>alert(1)")
}

// The stream counts what passes the page's filter, and touches nothing else.
func TestTheTimelineCountsWhatIsNew(t *testing.T) {
	d := newDesk(t)
	d.job("Alpha")
	d.timeline("/timeline", firstStart+1)
	base := d.listen(t)
	target := d.liveURL("/timeline?group=jobs")
	s := d.stream(t, base+target, "")
	d.agent("claude-1") // not of the group
	d.job("Beta")
	m := s.until("new event")
	doc := parse(t, m.data)
	wantText(t, doc, "[hx-target='#timeline-new'] a[href='/timeline?group=jobs']", "1 new event")
	wantCount(t, doc, "[data-event]", 0)
	d.job("Gamma")
	s.until("2 new events")

	// A reader that comes back is told of all that its page does not show.
	d.job("Delta")
	s.until("3 new events")
	_, at, err := d.Events.Tail(t.Context(), d.owner, eventlog.Cursor{}, 100)
	if err != nil {
		t.Fatal(err)
	}
	back := d.stream(t, base+target, at.String())
	d.job("Epsilon")
	back.until("4 new events")

	// The page that the button loads shows them, and counts from there.
	d.timeline("/timeline?group=jobs", 5)
	fresh := d.stream(t, base+d.liveURL("/timeline?group=jobs"), "")
	d.job("Zeta")
	fresh.until("1 new event")
}

// After a long break, or while very much happens, it says that there is much.
func TestTheTimelineDoesNotCountForEver(t *testing.T) {
	d := newDesk(t)
	target := d.listen(t) + d.liveURL("/timeline")
	batch := make([]jobs.New, 1000)
	for i := range batch {
		batch[i].Title = "One of many"
	}
	for range 2 {
		if _, err := d.Jobs.Create(t.Context(), d.owner, jobs.Origin{}, batch...); err != nil {
			t.Fatal(err)
		}
	}
	s := d.stream(t, target, "")
	s.until("99+ new events")
}

func TestTheStreamOfATimelineRefusesNonsense(t *testing.T) {
	d := newDesk(t)
	base := d.listen(t)
	for target, status := range map[string]int{
		"/live?on=timeline&job=FB-9":                                http.StatusNotFound,
		"/live?on=timeline&after=" + url.QueryEscape("1-1\nx"):      http.StatusBadRequest,
		"/live?on=timeline&after=18446744073709551616-1&group=jobs": http.StatusBadRequest,
	} {
		if res := d.open(t, base+target, ""); res.StatusCode != status {
			t.Errorf("%s answers %d, want %d", target, res.StatusCode, status)
		}
	}
}
