package handlers

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"fleetboard/db/dbfactory"
	"fleetboard/internal/dispatch"
	"fleetboard/internal/jobs"
	"fleetboard/internal/tenancy"
	"fleetboard/views/links"
)

// patience is how long a test waits for what must come.
const patience = 20 * time.Second

// stream is an open connection to /live.
type stream struct {
	t    *testing.T
	res  *http.Response
	read *bufio.Reader
}

// message is one event of a stream.
type message struct{ id, event, data string }

// listen serves the site for real: a recorder has no deadlines.
func (s *site) listen(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(s.Server)
	t.Cleanup(server.Close)
	return server.URL
}

func (s *site) open(t *testing.T, target, lastID string) *http.Response {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, target, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.AddCookie(s.cookies["sid"])
	r.Header.Set("Accept", "text/event-stream")
	if lastID != "" {
		r.Header.Set("Last-Event-ID", lastID)
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = res.Body.Close() })
	return res
}

func (s *site) stream(t *testing.T, target, lastID string) *stream {
	t.Helper()
	res := s.open(t, target, lastID)
	if res.StatusCode != http.StatusOK {
		t.Fatalf("the stream answers %d", res.StatusCode)
	}
	return &stream{t: t, res: res, read: bufio.NewReader(res.Body)}
}

// next reads a message with data; err is what ended the stream.
func (s *stream) next() (message, error) {
	var m message
	var data []string
	for {
		line, err := s.read.ReadString('\n')
		if err != nil {
			return m, err
		}
		line = strings.TrimSuffix(line, "\n")
		field, value, _ := strings.Cut(line, ": ")
		switch field {
		case "id":
			m.id = value
		case "event":
			m.event = value
		case "data":
			data = append(data, value)
		case "":
			if data != nil {
				m.data = strings.Join(data, "\n")
				return m, nil
			}
		}
	}
}

// until reads messages to the first that has the text.
func (s *stream) until(text string) message {
	s.t.Helper()
	for {
		m, err := s.next()
		if err != nil {
			s.t.Fatalf("the stream ended before %q came: %v", text, err)
		}
		if strings.Contains(m.data, text) {
			return m
		}
	}
}

// liveURL is the stream that a page asks for.
func (d *desk) liveURL(path string) string {
	d.t.Helper()
	target := page(d.t, d.get(path), http.StatusOK).Find("#live").AttrOr("hx-sse:connect", "")
	if target == "" {
		d.t.Fatalf("%s has no stream", path)
	}
	return target
}

func TestLiveBoardShowsAClaimOfAnotherProcess(t *testing.T) {
	d := newDesk(t)
	d.settle = time.Hour // what follows from changes would show them before they are told
	d.job("Alpha")
	d.job("Beta", func(n *jobs.New) { p := 1; n.Priority = &p })
	dbfactory.Readable(t, d.db)
	base := d.listen(t)
	board := d.liveURL("/board")
	s := d.stream(t, base+board, "")
	if kind := s.res.Header.Get("Content-Type"); !strings.HasPrefix(kind, "text/event-stream") {
		t.Errorf("content type %q", kind)
	}
	if keep := s.res.Header.Get("Cache-Control"); keep != "no-store, no-transform" {
		t.Errorf("cache control %q", keep)
	}
	d.agent("claude-1")
	s.until("factory-of-claude-1") // the sidebar
	agent := d.agent("claude-2")
	claimed := d.claim(agent)
	ref := dispatch.Ref{Job: claimed.Key, Epoch: claimed.Epoch}

	m := s.until(`board-total`)
	doc := parse(t, m.data)
	wantText(t, doc, `hx-partial[hx-target="#col-running"] #card-fb-1`, "Assigned, not started")
	wantCount(t, doc, `hx-partial[hx-target="#col-ready"] #card-fb-1`, 0)
	wantText(t, doc, "#board-total", "2 jobs")
	wantText(t, doc, "title", "Board (1 running)")
	if m.id == "" || m.event != "" {
		t.Errorf("message %q with event %q", m.id, m.event)
	}

	if _, err := d.elsewhere.Start(t.Context(), agent, ref); err != nil {
		t.Fatal(err)
	}
	s.until("Started")
	// Progress changes the card where it stands, and nothing else.
	done := 40
	_, err := d.elsewhere.Progress(t.Context(), agent, ref, dispatch.Progress{Percent: &done})
	if err != nil {
		t.Fatal(err)
	}
	s.until(`hx-target="#card-fb-1"`)

	// A reader that comes back gets what it missed, and only that.
	back := d.stream(t, base+board, m.id)
	wantCount(t, parse(t, back.until("40%").data), "#col-running #card-fb-1", 1)
}

func TestLiveBoardKeepsTheFilter(t *testing.T) {
	d := newDesk(t)
	d.job("Alpha", func(n *jobs.New) { n.Phase = "M1" })
	d.job("Beta", func(n *jobs.New) { n.Phase = "M2" })
	s := d.stream(t, d.listen(t)+d.liveURL("/board?phase=M2"), "")
	for _, key := range []string{"FB-1", "FB-2"} {
		if _, err := d.elsewhere.Act(t.Context(), d.owner, key, dispatch.Action{Verb: jobs.ByPause}); err != nil {
			t.Fatal(err)
		}
	}
	for {
		m := s.until("card-fb-2")
		doc := parse(t, m.data)
		if doc.Find("#col-waiting #card-fb-2").Length() == 0 {
			continue
		}
		wantCount(t, doc, "#col-waiting #card-fb-1", 0)
		wantText(t, doc, "#n-waiting", "1")
		return
	}
}

func TestLiveBoardAfterTheFirstJobFetchesItselfAgain(t *testing.T) {
	d := newDesk(t)
	s := d.stream(t, d.listen(t)+d.liveURL("/board"), "")
	d.job("The first")
	if m := s.until("reset"); m.event != "reset" || m.id == "" {
		t.Errorf("event %q with id %q", m.event, m.id)
	}
}

func TestLiveJobAndAgents(t *testing.T) {
	d := newDesk(t)
	d.job("Alpha")
	d.job("Beta", func(n *jobs.New) { p := 1; n.Priority = &p })
	base := d.listen(t)
	one, agents := d.stream(t, base+d.liveURL("/jobs/FB-1"), ""), d.stream(t, base+d.liveURL("/agents"), "")
	d.claim(d.agent("claude-1"))
	doc := parse(t, one.until("Working on it").data)
	wantText(t, doc, `hx-partial[hx-target="#job-panel"]`, "Working on itclaude-1")
	wantCount(t, doc, `hx-partial[hx-target="#job-actions"] #dlg-cancel`, 1)
	for {
		doc := parse(t, agents.until(`hx-target="#agents-panel"`).data)
		if doc.Find("#agents-panel a[href='/jobs/FB-1']").Length() > 0 {
			wantText(t, doc, "#agents-count", "1 live factory, 1 agent")
			return
		}
	}
}

// A page that has missed too much fetches itself again, and the stream goes on.
func TestLiveAfterALongBreak(t *testing.T) {
	d := newDesk(t)
	var batch []jobs.New
	for range 1000 {
		batch = append(batch, jobs.New{Title: "One of many"})
	}
	target := d.listen(t) + d.liveURL("/board")
	for range 2 {
		if _, err := d.Jobs.Create(t.Context(), d.owner, jobs.Origin{}, batch...); err != nil {
			t.Fatal(err)
		}
	}
	s := d.stream(t, target, "")
	m := s.until("reset")
	if m.event != "reset" || m.id == "" {
		t.Fatalf("event %q with id %q", m.event, m.id)
	}
	d.agent("claude-1")
	s.until("factory-of-claude-1")
}

func TestLiveEndsWithTheSession(t *testing.T) {
	d := newDesk(t)
	d.job("Alpha")
	member := d.as(tenancy.RoleMember)
	s := member.stream(t, d.listen(t)+links.LiveAgents(""), "")
	read(t, member.post("/logout", nil), http.StatusSeeOther)
	for {
		if _, err := s.next(); err != nil {
			if !errors.Is(err, io.EOF) {
				t.Fatalf("the stream did not end by itself: %v", err)
			}
			return
		}
	}
}

func TestLiveEndsWithTheServer(t *testing.T) {
	d := newDesk(t)
	d.job("Alpha")
	done := make(chan struct{})
	d.Done = done
	s := d.stream(t, d.listen(t)+d.liveURL("/jobs/FB-1"), "")
	close(done)
	for {
		if _, err := s.next(); err != nil {
			if !errors.Is(err, io.EOF) {
				t.Fatalf("the stream did not end by itself: %v", err)
			}
			return
		}
	}
}

func TestLiveRefusals(t *testing.T) {
	d := newDesk(t)
	base := d.listen(t)
	for target, status := range map[string]int{
		"/live?on=job&job=FB-9": http.StatusNotFound, "/live?on=nothing": http.StatusNotFound,
		"/live?on=agents&after=" + url.QueryEscape("1-1\nx"): http.StatusBadRequest,
	} {
		if res := d.open(t, base+target, ""); res.StatusCode != status {
			t.Errorf("%s answers %d, want %d", target, res.StatusCode, status)
		}
	}
	for range streamsPerPerson {
		d.stream(t, base+"/live?on=agents", "")
	}
	res := d.open(t, base+"/live?on=agents", "")
	if res.StatusCode != http.StatusServiceUnavailable || res.Header.Get("Retry-After") == "" {
		t.Errorf("one stream too many answers %d", res.StatusCode)
	}
	d.as(tenancy.RoleViewer).stream(t, base+"/live?on=agents", "")
}

// A ready card says at once that its product was paused, although no event is
// about the job itself.
func TestLiveBoardShowsThatAProductWasPaused(t *testing.T) {
	d := newDesk(t)
	d.agent("claude-1")
	d.job("Alpha")
	s := d.stream(t, d.listen(t)+d.liveURL("/board"), "")
	if _, _, err := d.Jobs.PutProduct(t.Context(), d.owner, "default", jobs.ProductSettings{Paused: true}); err != nil {
		t.Fatal(err)
	}
	wantText(t, parse(t, s.until("is paused").data), "#col-ready #card-fb-1", "Its product default is paused")
}
