package e2e

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fleetboard/fleetboard/api"
)

// Budgets of the wire, in bytes as they travel.
const (
	mostBoard  = 45_000 // the page of a board with 200 cards
	mostChange = 4_000  // one change, for each tab
	mostFirst  = 10_000 // a stream on which nothing changes
	mostAnswer = 2_000  // the answer to a move, of which the stream tells, with its head
)

// wire counts what a page's requests bring, in bytes as they travel.
type wire struct {
	mu    sync.Mutex
	paths map[string]string // by request
	bytes map[string]int    // by path
}

// wire counts from now on.
func (v *visitor) wire() *wire {
	v.t.Helper()
	session, err := v.tab.Context().NewCDPSession(v.tab)
	v.must("attach to the page", err)
	w := &wire{paths: map[string]string{}, bytes: map[string]int{}}
	brought := map[string]int{} // by request
	count := func(params any, also bool) {
		p := params.(map[string]any)
		w.mu.Lock()
		defer w.mu.Unlock()
		id := p["requestId"].(string)
		n := int(p["encodedDataLength"].(float64))
		if also {
			n += brought[id]
		}
		w.bytes[w.paths[id]] += n - brought[id]
		brought[id] = n
	}
	session.On("Network.requestWillBeSent", func(params any) {
		p := params.(map[string]any)
		at, err := url.Parse(p["request"].(map[string]any)["url"].(string))
		if err == nil {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.paths[p["requestId"].(string)] = at.Path
		}
	})
	session.On("Network.dataReceived", func(params any) { count(params, true) })
	session.On("Network.loadingFinished", func(params any) { count(params, false) }) // the whole, with the head
	_, err = session.Send("Network.enable", nil)
	v.must("count bytes", err)
	return w
}

// of returns what came from addresses that begin with one of these.
func (w *wire) of(paths ...string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := 0
	for path, bytes := range w.bytes {
		for _, p := range paths {
			if strings.HasPrefix(path, p) {
				n += bytes
			}
		}
	}
	return n
}

// fullBoard gives a workspace 200 jobs, 50 in each of four columns, and returns the agent that
// runs 50 of them.
func fullBoard(t *testing.T, s *server) *api.ClientWithResponses {
	t.Helper()
	agent := s.agent("atlas-1")
	create := func(kind string, change func(*api.NewJob)) {
		list := make([]api.NewJob, 50)
		for i := range list {
			list[i] = api.NewJob{Title: fmt.Sprintf("%s the clock of tenant %d before its token is trusted", kind, i+1),
				Phase: number(fmt.Sprint("M", i%7)), Priority: number(1 + i%9)}
			change(&list[i])
		}
		answer, err := s.owner().CreateJobsWithResponse(t.Context(), nil, api.CreateJobsJSONRequestBody{Jobs: list})
		if err != nil || answer.StatusCode() != http.StatusCreated {
			t.Fatalf("submit: %v %s", err, body(answer))
		}
	}
	claimAll := func() []api.Job {
		answer, err := agent.ClaimJobsWithResponse(t.Context(), api.ClaimRequest{Max: number(50)})
		if err != nil || answer.JSON200 == nil {
			t.Fatalf("claim: %v %s", err, body(answer))
		}
		return answer.JSON200.Jobs
	}
	create("Verify", func(n *api.NewJob) { n.ReviewRequired = number(true) })
	for done := 0; done < 50; {
		for _, j := range claimAll() {
			complete(t, agent, j.Key)
			done++
		}
	}
	create("Measure", func(*api.NewJob) {})
	for runs := 0; runs < 50; {
		for i, j := range claimAll() {
			progress(t, agent, j.Key, i*2, fmt.Sprintf("Reads file %d of the ledger", i+1))
			runs++
		}
	}
	create("Correct", func(n *api.NewJob) { n.NotBefore = number(time.Now().Add(24 * time.Hour)) })
	create("Compare", func(*api.NewJob) {})
	return agent
}

// counted returns the server as seen through a relay, which counts the bytes that go to the browser as they
// go: what the browser itself counts of a stream may come with a later part.
func (s *server) counted() (seen *server, down *atomic.Int64) {
	s.t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(s.t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = listener.Close() })
	down = &atomic.Int64{}
	go func() {
		for {
			browser, err := listener.Accept()
			if err != nil {
				return
			}
			go relay(s.t.Context(), browser, strings.TrimPrefix(s.url, "http://"), down)
		}
	}()
	behind := *s
	behind.url = "http://" + listener.Addr().String()
	return &behind, down
}

// relay joins a connection of a browser with the server at an address, until either ends it.
func relay(ctx context.Context, browser net.Conn, server string, down *atomic.Int64) {
	defer func() { _ = browser.Close() }()
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", server)
	if err != nil {
		return
	}
	go func() { _, _ = io.Copy(conn, browser); _ = conn.Close() }()
	_, _ = io.Copy(io.MultiWriter(browser, counting{down}), conn)
}

// counting counts what is written to it.
type counting struct{ n *atomic.Int64 }

func (c counting) Write(part []byte) (int, error) {
	c.n.Add(int64(len(part)))
	return len(part), nil
}

// A board of 200 cards, its quiet stream and each change of it stay within their budgets.
func TestTheBoardIsLightOnTheWire(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	agent := fullBoard(t, s)
	behind, down := s.counted()
	v := behind.visit(desktop)
	v.noWorker() // whose bytes the page's session does not count
	v.logIn()
	v.live()
	w := v.wire()
	v.open("/board")
	v.live()
	cards, err := v.tab.Locator("[data-card]").Count()
	if err != nil || cards != 200 {
		t.Fatalf("the board shows %d cards, %v", cards, err)
	}
	page := w.of("/board")
	heartbeat := func() {
		if answer, err := agent.HeartbeatWithResponse(t.Context(), "atlas-1", api.Heartbeat{BootID: "boot-of-atlas-1", Status: api.HeartbeatStatusWorking}); err != nil || answer.StatusCode() != http.StatusOK {
			t.Fatalf("heartbeat: %v %s", err, body(answer))
		}
	}
	for range 10 {
		heartbeat()
		<-time.After(2 * time.Second)
	}
	first := w.of("/streams")

	quiet := func() int64 {
		for before := int64(-1); ; {
			n := down.Load()
			if before >= 0 && n-before < 100 { // more than beats
				return n
			}
			before = n
			<-time.After(3 * time.Second) // what follows from a change comes a second later
		}
	}
	measured := func(what string, change func(), shown string) int {
		before, asked := quiet(), w.of("/jobs")
		change()
		v.sees(shown)
		n := int(quiet()-before) - (w.of("/jobs") - asked)
		t.Logf("%s: %d bytes", what, n)
		return n
	}
	// The first change that lets jobs start brings whole columns to a page that has just come.
	measured("what a new page is told", func() { s.submit("Tell the new page") }, "#list-ready > :has-text('Tell the new page')")
	most := 0
	for _, n := range []int{
		measured("a progress", func() { progress(t, agent, "FB-60", 99, "Compares both ledgers") }, "#card-fb-60:has-text('Compares both ledgers')"),
		measured("a job comes", func() { s.submit("Write the account of the outage") }, "#list-ready > :has-text('Write the account of the outage')"),
		measured("a claim", func() { claim(t, agent) }, "#list-running > :nth-child(1)"),
		measured("a hand-in", func() { complete(t, agent, "FB-61") }, card("FB-61", "done")),
		measured("a move by hand", func() { v.moves("FB-170", "waiting") }, card("FB-170", "waiting")),
	} {
		most = max(most, n)
	}
	answer := w.of("/jobs/FB-170/move")
	t.Logf("page %d, quiet stream %d, a change at most %d bytes, the answer to a move %d", page, first, most, answer)
	if answer == 0 || answer > mostAnswer {
		t.Errorf("the answer to a move takes %d bytes, at most %d are allowed", answer, mostAnswer)
	}
	if page > mostBoard {
		t.Errorf("the board takes %d bytes, at most %d are allowed", page, mostBoard)
	}
	if first > mostFirst {
		t.Errorf("a stream without news takes %d bytes in 20 s, at most %d are allowed", first, mostFirst)
	}
	if most > mostChange {
		t.Errorf("a change takes %d bytes, at most %d are allowed", most, mostChange)
	}
}

// moves takes a card to a column by its menu.
func (v *visitor) moves(key, column string) {
	v.t.Helper()
	id := "#card-" + strings.ToLower(key)
	v.click(id + " .job-menu")
	v.click(id + " [name=to][value=" + column + "]")
}
