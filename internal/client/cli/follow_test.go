package cli_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/fleetboard/fleetboard/api"
)

// proxy hands requests on to the server, and each piece of an answer as it comes.
func (w *serverAndTerminal) proxy() *httputil.ReverseProxy {
	w.t.Helper()
	at, err := url.Parse(w.url)
	if err != nil {
		w.t.Fatal(err)
	}
	return &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(at) }, FlushInterval: -1}
}

// TestEventsAreFollowedThroughCuts: a follower whose connection breaks again and again
// prints each event once.
func TestEventsAreFollowedThroughCuts(t *testing.T) {
	t.Parallel()
	w := newServerAndTerminal(t)
	proxy := w.proxy()
	var mu sync.Mutex
	through, cut := context.WithCancel(t.Context())
	front := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		ctx, end := context.WithCancel(r.Context())
		defer end()
		mu.Lock()
		defer context.AfterFunc(through, end)()
		mu.Unlock()
		proxy.ServeHTTP(rw, r.WithContext(ctx))
	}))
	t.Cleanup(front.Close)
	before := w.create("Before")
	direct := w.env["FLEETBOARD_URL"]
	w.env["FLEETBOARD_URL"] = front.URL
	f := w.start("events", "--follow", "--type", "job.created", "--limit", "1")
	f.says(before)
	w.env["FLEETBOARD_URL"] = direct
	var keys []string
	for range 4 {
		keys = append(keys, w.create("While it was cut"))
		f.says(keys[len(keys)-1])
		mu.Lock()
		cut()
		through, cut = context.WithCancel(t.Context())
		mu.Unlock()
	}
	defer cut()
	last := w.create("Last")
	f.says(last)
	f.stop()
	out := f.ends(130)
	for _, key := range append(keys, before, last) {
		if n := strings.Count(out, key+" "); n != 1 {
			t.Errorf("%s is there %d times:\n%s", key, n, out)
		}
	}
}

// An export whose acknowledgement is lost goes on behind what is in the file: each line is
// there once.
func TestAnExportGoesOnThoughItsAcknowledgementIsLost(t *testing.T) {
	t.Parallel()
	w := newServerAndTerminal(t)
	proxy := w.proxy()
	var away atomic.Bool
	away.Store(true)
	front := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if away.Load() && strings.HasSuffix(r.URL.Path, "/ack") {
			panic(http.ErrAbortHandler) // the connection breaks
		}
		proxy.ServeHTTP(rw, r)
	}))
	t.Cleanup(front.Close)
	w.fleet("msg", "send", "--to", "role:worker", "first").ok()
	direct := w.env["FLEETBOARD_URL"]
	w.env["FLEETBOARD_URL"] = front.URL
	file := filepath.Join(w.home, "bus.jsonl")
	f := w.start("bus", "export", "disk", "--follow", "-o", file)
	f.until(f.err, "the server is away")
	away.Store(false)
	w.env["FLEETBOARD_URL"] = direct
	w.fleet("msg", "send", "--to", "role:worker", "second").ok()
	lines := ""
	for !strings.Contains(lines, "second") && t.Context().Err() == nil {
		lines = w.read(file)
	}
	f.stop()
	f.ends(130)
	if strings.Count(lines, "\n") != 1 || strings.Count(lines, "first") != 1 {
		t.Errorf("the file has\n%s", lines)
	}
}

// TestEventsSince shows all from a time on, in the order of the log.
func TestEventsSince(t *testing.T) {
	t.Parallel()
	w := newServerAndTerminal(t)
	one, two := w.create("One"), w.create("Two")
	// The log shows an event once all transactions that began before it have ended, also those
	// of other tests on the same server.
	out := ""
	for !strings.Contains(out, two) && t.Context().Err() == nil {
		out = w.fleet("events", "--since", "1h", "--type", "job.created").ok()
	}
	if i, j := strings.Index(out, one), strings.Index(out, two); i < 0 || j < i {
		t.Errorf("the events: %s", out)
	}
	if out := w.fleet("events", "--since", "+1h").ok(); out != "" {
		t.Errorf("of the future: %s", out)
	}
	if out := w.fleet("events", "--job", two, "--json").ok(); strings.Contains(out, one) || !strings.HasPrefix(out, `{"`) {
		t.Errorf("of one job: %s", out)
	}
}

// write adds lines to the log of a job that this person's agent holds.
func (w *serverAndTerminal) write(key string, epoch int64, messages ...string) {
	w.t.Helper()
	batch := api.LogBatch{Job: key, Epoch: epoch}
	for _, one := range messages {
		batch.Lines = append(batch.Lines, api.NewLogLine{Level: "INFO", Message: one})
	}
	if _, err := w.agent().WriteLogsWithResponse(w.t.Context(), batch); err != nil {
		w.t.Fatal(err)
	}
}

// TestLogsAreFollowedToTheEnd: each line comes once, in order, and the command ends with
// the job.
func TestLogsAreFollowedToTheEnd(t *testing.T) {
	t.Parallel()
	w := newServerAndTerminal(t)
	key := w.create("One")
	w.fleet("job", "claim").ok()
	w.write(key, 1, "first line")
	f := w.start("job", "logs", "-f", key)
	f.says("first line")
	many := make([]string, 450) // more than two pages
	for i := range many {
		many[i] = "line of many"
	}
	w.write(key, 1, many...)
	w.write(key, 1, "last line")
	f.says("last line")
	w.fleet("job", "complete", key).ok()
	out := f.ends(0)
	if n := strings.Count(out, "\n"); n != 452 || strings.Count(out, "line of many") != 450 {
		t.Errorf("%d lines, want 452", n)
	}
}

// TestStepsAreFollowedToTheEnd: each step comes once, in order, and the command ends with the attempt.
func TestStepsAreFollowedToTheEnd(t *testing.T) {
	t.Parallel()
	w := newServerAndTerminal(t)
	key := w.create("One")
	if out := w.fleet("job", "steps", key).ok(); out != "" {
		t.Errorf("of no attempt: %s", out)
	}
	w.fleet("job", "claim").ok()
	n := int64(0)
	tell := func(kind api.StepKind, title, text string) {
		n++
		batch := api.StepBatch{Job: key, Epoch: 1, Steps: []api.NewStep{{N: n, Kind: kind, Title: title, Text: &text, CostUSD: new("0.5")}}}
		if _, err := w.agent().WriteStepsWithResponse(t.Context(), batch); err != nil {
			t.Fatal(err)
		}
	}
	tell("tool", "first", "make\x1b[2J\n\u202eall")
	f := w.start("job", "steps", "-f", key)
	f.says("first")
	for range 250 {
		tell("message", "one of many", "one of many")
	}
	tell("edit", "last", "-a\n+b")
	f.says("last")
	w.fleet("job", "complete", key).ok()
	out := f.ends(0)
	if strings.Count(out, "one of many") != 250 || strings.Count(out, "last") != 1 || strings.ContainsAny(out, "\x1b\u202e") ||
		!strings.Contains(out, "tool      first $0.50\n     make[2J\n     all\n") {
		t.Errorf("it printed %.300s", out)
	}
	if out := w.fleet("job", "steps", key, "--attempt", "1", "--kind", "edit,tool", "--after", "1", "--json").ok(); strings.Count(out, "\n") != 1 ||
		!strings.HasPrefix(out, `{"`) || !strings.Contains(out, `"title":"last"`) {
		t.Errorf("edits: %s", out)
	}
}

// TestWatchEndsWithTheJob, with a code that says how.
func TestWatchEndsWithTheJob(t *testing.T) {
	t.Parallel()
	w := newServerAndTerminal(t)
	key := w.create("One")
	f := w.start("job", "watch", key)
	f.says(key + " ready")
	w.fleet("job", "claim", "--agent", "ada").ok()
	w.fleet("job", "progress", key, "--percent", "40", "--step", "weighs").ok()
	f.says("running (ada 40 %): weighs")
	w.fleet("job", "complete", key).ok()
	f.says("completed")
	f.ends(0)
	other := w.create("Two")
	f = w.start("job", "watch", other)
	f.says(other + " ready")
	w.fleet("job", "cancel", other, "-m", "no need").ok()
	f.ends(1)
	w.fleet("job", "watch", "FB-999").ends(4)
}

// TestWatchDrawsOnATerminalOnly: there the table takes the place of the one before;
// elsewhere each event is a line.
func TestWatchDrawsOnATerminalOnly(t *testing.T) {
	t.Parallel()
	w := newServerAndTerminal(t)
	w.create("One")
	w.terminal = true
	f := w.start("job", "watch")
	f.says("One")
	w.terminal = false
	w.create("Two")
	f.says("Two")
	f.stop()
	if out := f.ends(130); !strings.Contains(out, "A\r\x1b[J") {
		t.Errorf("it was not drawn again: %q", out)
	}
	lines := w.start("job", "watch", "--json")
	lines.until(&w.calls, "streamEvents")
	three := w.create("Three")
	lines.says(three)
	lines.stop()
	if out := lines.ends(130); strings.Contains(out, "\x1b") {
		t.Errorf("it drew: %q", out)
	}
}
