package live_test

import (
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/db/dbtest"
	"github.com/fleetboard/fleetboard/e2e/handlertest"
	"github.com/fleetboard/fleetboard/handlers"
	"github.com/fleetboard/fleetboard/handlers/live"
	"github.com/fleetboard/fleetboard/internal/dispatch/actions"
	"github.com/fleetboard/fleetboard/internal/dispatch/lease"
	"github.com/fleetboard/fleetboard/internal/dispatch/report"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	"github.com/fleetboard/fleetboard/views/links"
)

func TestLiveBoardShowsAClaimOfAnotherProcess(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	d.Live.Settle = time.Hour // what follows from changes would show them before they are sent
	d.Job("Alpha")
	d.Job("Beta", func(n *jobs.New) { p := 1; n.Priority = &p })
	dbfactory.Readable(t, d.DB)
	base := d.Listen(t)
	board := d.LiveURL("/board")
	s := d.Stream(t, base+board, "")
	if kind := s.Res.Header.Get("Content-Type"); !strings.HasPrefix(kind, "text/event-stream") {
		t.Errorf("content type %q", kind)
	}
	if keep := s.Res.Header.Get("Cache-Control"); keep != "no-store, no-transform" {
		t.Errorf("cache control %q", keep)
	}
	d.Agent("claude-1")
	s.Until("factory-of-claude-1") // the sidebar
	agent := d.Agent("claude-2")
	claimed := d.Claim(agent)
	ref := lease.Ref{Job: claimed.Key, Epoch: claimed.Epoch}

	m := s.Until(`board-total`)
	doc := handlertest.Parse(t, m.Data)
	handlertest.WantText(t, doc, `hx-partial[hx-target="#col-running"] #card-fb-1`, "Assigned, not started")
	handlertest.WantCount(t, doc, `hx-partial[hx-target="#col-ready"] #card-fb-1`, 0)
	handlertest.WantText(t, doc, "#board-total", "2 jobs")
	handlertest.WantText(t, doc, "title", "Board (1 running)")
	if m.ID == "" || m.Event != "" {
		t.Errorf("message %q with event %q", m.ID, m.Event)
	}

	if _, err := d.OtherProcess.Start(t.Context(), agent, ref, nil); err != nil {
		t.Fatal(err)
	}
	s.Until("Started")
	// Progress changes the card where it stands, and nothing else.
	done := 40
	_, err := d.OtherProcess.Progress(t.Context(), agent, ref, report.Progress{Percent: &done})
	if err != nil {
		t.Fatal(err)
	}
	s.Until(`hx-target="#card-fb-1"`)

	// A reader that comes back gets what it missed, and only that.
	back := d.Stream(t, base+board, m.ID)
	handlertest.WantCount(t, handlertest.Parse(t, back.Until("40%").Data), "#col-running #card-fb-1", 1)
}

func TestLiveBoardKeepsTheFilter(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	d.Job("Alpha", func(n *jobs.New) { n.Phase = "M1" })
	d.Job("Beta", func(n *jobs.New) { n.Phase = "M2" })
	s := d.Stream(t, d.Listen(t)+d.LiveURL("/board?phase=M2"), "")
	for _, key := range []string{"FB-1", "FB-2"} {
		if _, err := d.OtherProcess.Act(t.Context(), d.Owner, key, actions.Action{Verb: jobs.ByPause}); err != nil {
			t.Fatal(err)
		}
	}
	for {
		m := s.Until("card-fb-2")
		doc := handlertest.Parse(t, m.Data)
		if doc.Find("#col-waiting #card-fb-2").Length() == 0 {
			continue
		}
		handlertest.WantCount(t, doc, "#col-waiting #card-fb-1", 0)
		handlertest.WantText(t, doc, "#n-waiting", "1")
		return
	}
}

func TestLiveBoardAfterTheFirstJobFetchesItselfAgain(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	s := d.Stream(t, d.Listen(t)+d.LiveURL("/board"), "")
	d.Job("The first")
	if m := s.Until("reset"); m.Event != "reset" || m.ID == "" {
		t.Errorf("event %q with id %q", m.Event, m.ID)
	}
}

func TestLiveJobAndAgents(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	d.Job("Alpha")
	d.Job("Beta", func(n *jobs.New) { p := 1; n.Priority = &p })
	base := d.Listen(t)
	one, agents := d.Stream(t, base+d.LiveURL("/jobs/FB-1"), ""), d.Stream(t, base+d.LiveURL("/agents"), "")
	d.Claim(d.Agent("claude-1"))
	doc := handlertest.Parse(t, one.Until("Working on it").Data)
	handlertest.WantText(t, doc, `hx-partial[hx-target="#job-panel"]`, "Working on itclaude-1")
	handlertest.WantCount(t, doc, `hx-partial[hx-target="#job-actions"] #dlg-cancel`, 1)
	for {
		doc := handlertest.Parse(t, agents.Until(`hx-target="#agents-panel"`).Data)
		if doc.Find("#agents-panel a[href='/jobs/FB-1']").Length() > 0 {
			handlertest.WantText(t, doc, "#agents-count", "1 live factory, 1 agent")
			return
		}
	}
}

// A page that has missed too much fetches itself again, and the stream goes on.
func TestLiveAfterALongBreak(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	var batch []jobs.New
	for range 1000 {
		batch = append(batch, jobs.New{Spec: jobs.Spec{Title: "One of many"}})
	}
	target := d.Listen(t) + d.LiveURL("/board")
	for range 2 {
		if _, err := d.Jobs.Create(t.Context(), d.Owner, nil, batch...); err != nil {
			t.Fatal(err)
		}
	}
	s := d.Stream(t, target, "")
	m := s.Until("reset")
	if m.Event != "reset" || m.ID == "" {
		t.Fatalf("event %q with id %q", m.Event, m.ID)
	}
	d.Agent("claude-1")
	s.Until("factory-of-claude-1")
}

func TestLiveEndsWithTheSession(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	d.Job("Alpha")
	member := d.As(tenancy.RoleMember)
	s := member.Stream(t, d.Listen(t)+links.Live("agents", "", nil), "")
	handlertest.Read(t, member.Post("/logout", nil), http.StatusSeeOther)
	for {
		if _, err := s.Next(); err != nil {
			if !errors.Is(err, io.EOF) {
				t.Fatalf("the stream did not end by itself: %v", err)
			}
			return
		}
	}
}

func TestLiveEndsWithTheServer(t *testing.T) {
	done := make(chan struct{})
	d := handlertest.NewWorkspace(t, func(deps *handlers.Deps) { deps.Done = done })
	d.Job("Alpha")
	s := d.Stream(t, d.Listen(t)+d.LiveURL("/jobs/FB-1"), "")
	close(done)
	for {
		if _, err := s.Next(); err != nil {
			if !errors.Is(err, io.EOF) {
				t.Fatalf("the stream did not end by itself: %v", err)
			}
			return
		}
	}
}

func TestLiveRefusals(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	base := d.Listen(t)
	for target, status := range map[string]int{
		"/live?on=job&job=FB-9": http.StatusNotFound, "/live?on=nothing": http.StatusNotFound,
		"/live?on=agents&after=" + url.QueryEscape("1-1\nx"): http.StatusBadRequest,
	} {
		if res := d.Open(t, base+target, ""); res.StatusCode != status {
			t.Errorf("%s answers %d, want %d", target, res.StatusCode, status)
		}
	}
	for range live.StreamsPerPerson {
		d.Stream(t, base+"/live?on=agents", "")
	}
	res := d.Open(t, base+"/live?on=agents", "")
	if res.StatusCode != http.StatusServiceUnavailable || res.Header.Get("Retry-After") == "" {
		t.Errorf("one stream too many answers %d", res.StatusCode)
	}
	d.As(tenancy.RoleViewer).Stream(t, base+"/live?on=agents", "")
}

// A ready card says at once that its product was paused, although no event is
// about the job itself.
func TestLiveBoardShowsThatAProductWasPaused(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	d.Agent("claude-1")
	d.Job("Alpha")
	s := d.Stream(t, d.Listen(t)+d.LiveURL("/board"), "")
	if _, _, err := d.Jobs.PutProduct(t.Context(), d.Owner, "default", jobs.ProductSettings{Paused: true}); err != nil {
		t.Fatal(err)
	}
	handlertest.WantText(t, handlertest.Parse(t, s.Until("is paused").Data), "#col-ready #card-fb-1", "Its product default is paused")
}

// A card that moves to a place behind "Show more" goes from where it was.
func TestLiveBoardTellsOfACardThatGoesBehindShowMore(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	var batch []jobs.New
	for range 60 {
		batch = append(batch, jobs.New{Spec: jobs.Spec{Title: "One of many"}})
	}
	if _, err := d.Jobs.Create(t.Context(), d.Owner, nil, batch...); err != nil {
		t.Fatal(err)
	}
	last := d.Job("The last", func(n *jobs.New) { n.Priority = new(0) })
	d.Act(t, last.Key, actions.Action{Verb: jobs.ByPause})
	s := d.Stream(t, d.Listen(t)+d.LiveURL("/board"), "")
	d.Act(t, last.Key, actions.Action{Verb: jobs.ByResume})
	s.Until(`hx-target="#card-fb-61" hx-swap="delete"`)
}

// A card that was sent alone is known: what follows from another change sends its column only
// where that shows something else.
func TestLiveBoardKnowsACardThatWasSentAlone(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	d.Live.Settle = 100 * time.Millisecond
	d.Job("Alpha")
	agent := d.Agent("claude-1")
	claimed := d.Claim(agent)
	ref := lease.Ref{Job: claimed.Key, Epoch: claimed.Epoch}
	if _, err := d.OtherProcess.Start(t.Context(), agent, ref, nil); err != nil {
		t.Fatal(err)
	}
	s := d.Stream(t, d.Listen(t)+d.LiveURL("/board"), "")
	followed := func(limit int) handlertest.Message {
		t.Helper()
		if _, _, err := d.Jobs.PutProduct(t.Context(), d.Owner, "default", jobs.ProductSettings{ReviewLimit: &limit}); err != nil {
			t.Fatal(err)
		}
		return s.Until("board-note")
	}
	for limit := range 3 {
		followed(7 + limit) // the first shows the columns, of which the stream does not know what the reader has
	}
	if m := followed(10); strings.Contains(m.Data, "col-running") {
		t.Errorf("a column that is the same is sent:\n%s", m.Data)
	}
	done := 40
	if _, err := d.OtherProcess.Progress(t.Context(), agent, ref, report.Progress{Percent: &done}); err != nil {
		t.Fatal(err)
	}
	s.Until(`hx-target="#card-fb-1"`)
	if m := followed(11); strings.Contains(m.Data, "col-running") {
		t.Errorf("a column of which the card was sent is sent:\n%s", m.Data)
	}
}

// A page whose stream was away while somebody stopped or released the fleet says so.
func TestWhoComesBackSeesThatTheFleetWasStopped(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	base := d.Listen(t)
	for _, address := range []string{"/board", "/status"} {
		before := d.LiveURL(address)
		handlertest.WantRedirect(t, d.Post("/stop", url.Values{"product": {""}, "hold": {"all"}, "reason": {"nonsense"}}), "/stop")
		d.Stream(t, base+before, "").Until("The whole fleet is stopped")
		stopped := d.LiveURL(address)
		handlertest.WantRedirect(t, d.Post("/stop/release", url.Values{"product": {""}}), "/stop")
		doc := handlertest.Parse(t, d.Stream(t, base+stopped, "").Until(`id="stopped"`).Data)
		handlertest.WantCount(t, doc, `hx-partial[hx-target="#stopped"] #stopped`, 1)
		handlertest.WantCount(t, doc, "#stopped .note", 0)
	}
}

// A stream tells of a stop whose event another transaction held back while the stream began.
func TestAStreamTellsOfAStopThatWasHeldBack(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	base, before := d.Listen(t), d.LiveURL("/board")
	writes, err := dbtest.Owner(t, d.DB).Begin(t.Context())
	if err == nil {
		_, err = writes.Exec(t.Context(), `SELECT pg_current_xact_id()`)
	}
	if err != nil {
		t.Fatal(err)
	}
	handlertest.WantRedirect(t, d.Post("/stop", url.Values{"product": {""}, "hold": {"all"}, "reason": {"nonsense"}}), "/stop")
	s := d.Stream(t, base+before, "")
	s.Until("nav-health") // it has begun
	if err := writes.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.Until("The whole fleet is stopped")
}

// A stream begins with how the coordinator is, also where nothing has happened: a page that comes back
// may say otherwise.
func TestAStreamBeginsWithHowTheCoordinatorIs(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	handlertest.Leads(t, d, "10 minutes", "4 seconds")
	doc := handlertest.Parse(t, d.Stream(t, d.Listen(t)+d.LiveURL("/board"), "").Until("nav-health").Data)
	handlertest.WantText(t, doc, "#nav-health", "Working")
}
