package api_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3filter"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/e2e/apptest"
	"github.com/fleetboard/fleetboard/handlers/api"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/notifier"
)

// liveServer is a second process on a server's database, which is notified of news and
// can be stopped.
type liveServer struct {
	w     *apiServer
	url   string
	done  chan struct{}
	ended chan struct{} // a token for each answered call
	subs  atomic.Int32  // subscriptions that are open
}

// late writes each next piece after the time for the last one is over, as the
// end of a stream often is.
type late struct{ http.ResponseWriter }

func (l late) Unwrap() http.ResponseWriter { return l.ResponseWriter }

func (l late) FlushError() error {
	control := http.NewResponseController(l.ResponseWriter)
	return errors.Join(control.Flush(), control.SetWriteDeadline(time.Now().Add(-time.Second)))
}

func newLiveServer(w *apiServer) *liveServer {
	w.t.Helper()
	s := &liveServer{w: w, done: make(chan struct{}), ended: make(chan struct{}, 100)}
	services := apptest.Start(w.t, w.db)
	deps := services.API()
	deps.Wake, deps.Done = counted{services.Wake, &s.subs}, s.done
	server := api.New(deps)
	listening := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		server.ServeHTTP(late{rw}, r)
		s.ended <- struct{}{}
	}))
	s.url = listening.URL
	w.t.Cleanup(func() {
		listening.CloseClientConnections()
		listening.Close()
	})
	return s
}

// counted counts the subscriptions that are open.
type counted struct {
	*notifier.Notifier
	open *atomic.Int32
}

func (c counted) Subscribe(prefix string, fn func(string)) func() {
	c.open.Add(1)
	cancel := c.Notifier.Subscribe(prefix, fn)
	return func() { c.open.Add(-1); cancel() }
}

func init() {
	openapi3filter.RegisterBodyDecoder("text/event-stream", openapi3filter.PlainBodyDecoder)
}

// message is one block of a stream.
type message struct {
	id, event, data, retry string
	comment                bool
}

// stream is an open stream of events.
type stream struct {
	t        *testing.T
	request  *http.Request
	response *http.Response
	messages chan message // closed when the server ends the stream
	cut      error        // why the connection broke, nil where the answer ended
	leave    context.CancelFunc
}

func (s *liveServer) open(token, query string, header ...string) *stream {
	s.w.t.Helper()
	ctx, leave := context.WithTimeout(s.w.t.Context(), 2*time.Minute)
	s.w.t.Cleanup(leave)
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+api.BasePath+"/events/stream"+query, nil)
	if err != nil {
		s.w.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		s.w.t.Fatal(err)
	}
	st := &stream{t: s.w.t, request: r, response: response, messages: make(chan message, 1000), leave: leave}
	if response.StatusCode != http.StatusOK {
		s.w.t.Fatalf("the stream was answered with %d", response.StatusCode)
	}
	go st.read()
	return st
}

func (s *stream) read() {
	defer close(s.messages)
	defer s.response.Body.Close()
	lines := bufio.NewScanner(s.response.Body)
	lines.Buffer(nil, 1<<20)
	var m message
	for lines.Scan() {
		name, text, _ := strings.Cut(lines.Text(), ": ")
		switch name {
		case "id":
			m.id = text
		case "event":
			m.event = text
		case "data":
			m.data = text
		case "retry":
			m.retry = text
		case ":":
			m.comment = true
		case "":
			s.messages <- m
			m = message{}
		}
	}
	s.cut = lines.Err()
}

// next returns the next message that what selects.
func (s *stream) next(what func(message) bool) message {
	s.t.Helper()
	for m := range s.messages {
		if what(m) {
			return m
		}
	}
	s.t.Fatal("the stream ended")
	return message{}
}

func isEvent(m message) bool { return m.event != "" }

// of selects the events of a job. A stream from now on may begin a little earlier:
// with what a transaction of somebody else still kept back.
func of(job string) func(message) bool {
	return func(m message) bool { return isEvent(m) && strings.Contains(m.data, `"job":"`+job+`"`) }
}

// over waits for the end of the stream, which is an answer's, not a broken
// connection's.
func (s *stream) over() {
	s.t.Helper()
	for range s.messages {
		continue
	}
	if s.request.Context().Err() != nil {
		s.t.Fatal("the stream did not end")
	}
	if s.cut != nil {
		s.t.Errorf("the stream was cut short: %v", s.cut)
	}
}

// The stream begins now, sends each change as it is made, and its ids are
// places to go on from: by Last-Event-ID, by ?after=, or with GET /events.
func TestAStreamTellsOfEachChangeAndIsResumed(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	w.job("Before")
	s := newLiveServer(w)
	live := s.open(w.owner, "")
	if h := live.response.Header; h.Get("Content-Type") != "text/event-stream" || h.Get("X-Accel-Buffering") != "no" || !strings.Contains(h.Get("Cache-Control"), "no-store") {
		t.Errorf("the head is %v", h)
	}
	first := live.next(func(message) bool { return true })
	if first.retry != "3000" || first.id == "" {
		t.Errorf("the stream begins with %+v; want retry and a place", first)
	}
	one, two := w.job("One"), w.job("Two")
	got := live.next(of(one))
	var event struct{ Cursor, Type, Job string }
	if err := json.Unmarshal([]byte(got.data), &event); err != nil {
		t.Fatal(err)
	}
	if got.event != "job.created" || event.Type != got.event || event.Job != one || event.Cursor != got.id {
		t.Errorf("got %+v; want the creation of %s", got, one)
	}
	answer{t: t, status: 200, header: live.response.Header, raw: []byte("data: " + got.data)}.checkAgainst(live.request, nil)
	if second := live.next(isEvent); !of(two)(second) {
		t.Errorf("then %+v; want the creation of %s", second, two)
	}
	w.as(w.owner, "POST", "/jobs/"+two+"/block", object{"reason": "no\n\nid: 0-0\r\ndata: forged\u2028"}).want(200)
	if third := live.next(isEvent); third.event != "job.blocked" || !strings.Contains(third.data, `no\n\nid: 0-0`) {
		t.Errorf("then %+v; want the block in one piece", third)
	}
	live.leave()

	place := url.QueryEscape(got.id)
	for what, again := range map[string]*stream{
		"Last-Event-ID": s.open(w.owner, "?after="+first.id, "Last-Event-ID", got.id),
		"after":         s.open(w.owner, "?after="+place),
		"some types":    s.open(w.owner, "?type=job.*&type=product.saved&after="+place),
	} {
		if m := again.next(isEvent); m.event != "job.created" || !of(two)(m) {
			t.Errorf("%s: %+v; want the creation of %s", what, m, two)
		}
		again.leave()
	}
	page := w.as(w.owner, "GET", "/events?after="+place, nil).want(200)
	if page.count("items") != 2 || page.text("items", 0, "job") != two {
		t.Errorf("by GET /events: %s", page.raw)
	}
	w.as(w.owner, "GET", "/events/stream", nil, "Last-Event-ID", "yesterday").want(400).refused(fault.Malformed)
	w.as(w.owner, "GET", "/events/stream?job=FB-999", nil).want(404).refused(fault.NotFound)
	w.as(w.enrolment, "GET", "/events/stream", nil).want(403).refused(fault.Forbidden)
}

// A reader gets what it selected, gets how far the log has gone all the
// same, and sees nothing of another workspace.
func TestAStreamOfAFewTypesMovesOn(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	s := newLiveServer(w)
	key := w.job("One")
	foreign := s.open(w.otherWorkspace(), "")
	blocked := s.open(w.owner, "?type=job.blocked&type=agent.*")
	ofJob := s.open(w.owner, "?job="+key)
	begin := blocked.next(func(m message) bool { return m.id != "" })
	w.job("Two")
	moved := blocked.next(func(m message) bool { return m.id != begin.id && m.id != "" })
	if isEvent(moved) {
		t.Errorf("got %+v; want only a place", moved)
	}
	blocked.next(func(m message) bool { return m.comment })
	w.as(w.owner, "POST", "/jobs/"+key+"/block", object{"reason": "not yet"}).want(200)
	for _, one := range []*stream{blocked, ofJob} {
		if m := one.next(func(m message) bool { return isEvent(m) && m.event != "job.created" }); m.event != "job.blocked" || !strings.Contains(m.data, `"`+key+`"`) {
			t.Errorf("got %+v; want that %s was blocked", m, key)
		}
	}
	others := func(m message) bool { return isEvent(m) && m.event != "token.issued" } // that one is its own
	if m := foreign.next(func(m message) bool { return others(m) || m.comment }); others(m) {
		t.Errorf("another workspace was told %+v", m)
	}
}

// Streams end with their token, with the server and with their reader, and
// leave nothing behind.
func TestStreamsEnd(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	s := newLiveServer(w)
	shortLived := w.otherWorkspace()
	one, two, three := s.open(shortLived, ""), s.open(w.owner, ""), s.open(w.owner, "")
	for _, st := range []*stream{one, two, three} {
		st.next(func(m message) bool { return m.comment })
	}
	dbfactory.Exec(t, w.db, `UPDATE access_token SET revoked_at = now() WHERE name = 'other'`)
	one.over()
	three.leave()
	<-s.ended
	<-s.ended
	two.next(func(m message) bool { return m.comment })
	if n := s.subs.Load(); n != 1 {
		t.Errorf("%d subscriptions are left; want 1", n)
	}
	close(s.done)
	two.over()
	<-s.ended
	if n := s.subs.Load(); n != 0 {
		t.Errorf("%d subscriptions are left; want none", n)
	}
}

// A token, the agents of an enrolment token and a workspace have so many streams and no
// more; others are not affected, and a place is free again when a reader leaves.
func TestStreamsAreCounted(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	s := newLiveServer(w)
	open := func(token string, n int) (list []*stream) {
		for range n {
			list = append(list, s.open(token, ""))
		}
		return list
	}
	refused := func(token, why string) {
		t.Helper()
		a := exchange(t, s.url, request{token: token, method: "GET", path: "/events/stream"}).want(429).refused(fault.TooMany)
		if a.header.Get("Retry-After") == "" || !strings.Contains(a.text("detail"), why) {
			t.Errorf("Retry-After %q, %q; want %q", a.header.Get("Retry-After"), a.text("detail"), why)
		}
		<-s.ended
	}
	mine := open(w.owner, api.StreamsPerAsker)
	refused(w.owner, "3 streams of this person")
	ada, bob := w.agent("ada"), w.agent("bob")
	open(ada, api.StreamsPerAsker)
	refused(ada, "3 streams of this agent")
	open(bob, api.StreamsPerWorkspace/2-api.StreamsPerAsker)
	refused(bob, "4 streams of this enrolment token")
	_, guest := w.guest()
	open(guest, 1)
	refused(guest, "8 streams of this workspace")
	s.open(w.otherWorkspace(), "").next(func(m message) bool { return m.retry != "" })
	mine[0].leave()
	<-s.ended
	s.open(w.owner, "").next(func(m message) bool { return m.retry != "" })
}

// A reader that does not read is cut off, whatever there is to send; it misses
// nothing when it goes on from the last id it got.
func TestAReaderThatDoesNotReadIsCutOff(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	s := newLiveServer(w)
	const n = 12_000
	dbfactory.Exec(t, w.db, `INSERT INTO event (workspace_id, xid, type, actor, actor_kind, payload)
		SELECT id, (g / 100 + 1)::text::xid8, 'job.edited', 'test', 'system', jsonb_build_object('n', g, 'text', repeat('x', 2000))
		FROM workspace, generate_series(1, $1::int) g`, n)
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "GET %s/events/stream?after=0-0 HTTP/1.0\r\nAuthorization: Bearer %s\r\n\r\n", api.BasePath, w.owner)
	select {
	case <-s.ended:
	case <-time.After(2 * time.Minute):
		t.Fatal("the server still waits for a reader that does not read")
	}
	var got bytes.Buffer
	_ = conn.SetReadDeadline(time.Now().Add(10 * time.Second))
	_, _ = got.ReadFrom(conn)
	// What arrived is whole up to its last blank line.
	whole, _, _ := strings.Cut(got.String(), "\r\n\r\n")
	body := got.String()[len(whole)+4:]
	body = body[:strings.LastIndex(body, "\n\n")]
	last := body[strings.LastIndex(body, "id: ")+4:]
	last, _, _ = strings.Cut(last, "\n")
	before := strings.Count(body, "event: job.edited")
	rest := s.open(w.owner, "?type=job.edited", "Last-Event-ID", last)
	for i := before + 1; i <= n; i++ {
		if m := rest.next(isEvent); !strings.Contains(m.data, fmt.Sprintf(`"n":%d,`, i)) {
			t.Fatalf("after %d events and then %d: %.300s", before, i-before-1, m.data)
		}
	}
	t.Logf("cut off after %d events", before)
}
