package api_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/fleetboard/fleetboard/handlers/api"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/tenancy/quota"
)

// busy is a matrix in which the owner has all of its turns under way, and as many in line
// as there may be.
type busy struct {
	*matrix

	owner, agent, stranger asker
	turn                   *quota.Turn
}

func newBusy(t *testing.T) *busy {
	t.Helper()
	b := &busy{matrix: newMatrix(t)}
	turns := quota.NewTurns(2)
	b.handler = b.serve(func(d *api.Deps) { d.Turns = turns })
	b.owner, b.agent, b.stranger = b.named("owner"), b.named("agent"), b.named("owner of another workspace")
	turns.See(b.stranger.who)
	turns.See(b.owner.who)
	var err error
	if b.turn, err = turns.Take(t.Context(), b.owner.who); err != nil {
		t.Fatal(err)
	}
	inLine, leave := context.WithCancel(t.Context())
	t.Cleanup(leave)
	refused := make(chan struct{}, 1)
	for range quota.TurnLine + 1 {
		go func() {
			if _, err := turns.Take(inLine, b.owner.who); fault.Is(err, fault.TooMany) {
				refused <- struct{}{}
			}
		}()
	}
	<-refused
	return b
}

func (b *busy) named(name string) asker {
	b.t.Helper()
	at := slices.IndexFunc(b.askers, func(a asker) bool { return a.name == name })
	if at < 0 {
		b.t.Fatalf("there is no %s", name)
	}
	return b.askers[at]
}

// others makes the calls that everybody else must be able to make.
func (b *busy) others(after matrixCall) {
	b.t.Helper()
	for _, one := range []struct {
		asker
		method, path, id string
	}{{b.agent, "POST", "/fleet/claim", "claimJobs"}, {b.agent, "POST", "/agents/{agent}/heartbeat", "heartbeat"},
		{b.agent, "GET", "/jobs/{job}", "getJob"}, {b.stranger, "GET", "/jobs", "listJobs"}} {
		call := matrixCall{method: one.method, path: one.path, id: one.id}
		if one.method == http.MethodPost {
			call.body = described.doc.Paths.Find(one.path).Post.RequestBody.Value.Content["application/json"].Schema.Value
		}
		if res := b.send(call, one.asker); res.Code >= 300 {
			b.t.Errorf("after %s: %s of %s: %d %s", after.name(), one.id, one.name, res.Code, res.Body)
		}
	}
}

// Whatever somebody calls that has used up its turns is refused, in the form of all refusals
// and with the time to wait, or is so cheap that it needs none; the others notice nothing.
func TestWhoHasUsedUpItsTurnsHoldsUpNobody(t *testing.T) {
	t.Parallel()
	b := newBusy(t)
	cheap := 0
	for _, call := range b.calls() {
		if !b.owner.who.Can(call.need) || call.id == "deleteJob" {
			continue
		}
		res := b.send(call, b.owner)
		switch wait, _ := strconv.Atoi(res.Header().Get("Retry-After")); {
		case res.Code >= 500:
			t.Errorf("%s: %d %s", call.name(), res.Code, res.Body)
		case res.Code != http.StatusTooManyRequests:
			cheap++
		case wait < 1 || res.Header().Get("Content-Type") != "application/problem+json" || !strings.Contains(res.Body.String(), `"rate_limited"`):
			t.Errorf("%s is refused with %v: %s", call.name(), res.Header(), res.Body)
		}
		if lists := call.method == http.MethodGet && !strings.Contains(call.path, "{"); lists && res.Code == http.StatusOK &&
			!slices.Contains([]string{"readMessages", "streamEvents", "getVersion", "getDescription", "getCoordinatorStatus"}, call.id) {
			t.Errorf("%s lists as much as there is, and takes no turn", call.name())
		}
		b.others(call)
	}
	if cheap == 0 || cheap == len(b.calls()) {
		t.Errorf("%d of %d calls are cheap", cheap, len(b.calls()))
	}
}

// A call that is cheap is not so with a large body.
func TestALargeBodyTakesATurn(t *testing.T) {
	t.Parallel()
	b := newBusy(t)
	for size, want := range map[int]int{60 << 10: http.StatusCreated, 70 << 10: http.StatusTooManyRequests} {
		// One line of many short words would be rendered for long; letters are not.
		res := call(t, b.handler, "", b.owner.token, "POST", "/jobs", `{"title":"a job","body":"`+strings.Repeat("x", size)+`"}`)
		if res.Code != want {
			t.Errorf("%d bytes: %d %.300s, want %d", size, res.Code, res.Body, want)
		}
	}
}

// The names of cheap calls are those of calls that there are.
func TestCheapCallsExist(t *testing.T) {
	t.Parallel()
	known := map[string]bool{}
	for _, item := range described.doc.Paths.Map() {
		for _, op := range item.Operations() {
			known[op.OperationID] = true
		}
	}
	for _, id := range api.CheapCalls {
		if !known[id] {
			t.Errorf("there is no call %s", id)
		}
	}
}

// A refusal for too many calls is answered a moment later, so that calling on without a
// pause is no faster than with one.
func TestRefusalsAreHeldBack(t *testing.T) {
	w := newAPIServer(t)
	held, release := make(chan struct{}), make(chan struct{})
	defer api.PauseRefusals(func(context.Context) {
		held <- struct{}{}
		<-release
	})()
	server, _ := w.limited(1) // 5 at once
	for range 5 {
		call(t, server, "203.0.113.9", w.owner, "GET", "/jobs/none", "")
	}
	answered := make(chan *httptest.ResponseRecorder)
	go func() { answered <- call(t, server, "203.0.113.9", w.owner, "GET", "/jobs/none", "") }()
	<-held
	if res := call(t, server, "203.0.113.8", "", "GET", "/version", ""); res.Code != http.StatusOK {
		t.Errorf("somebody else meanwhile: %d", res.Code)
	}
	release <- struct{}{}
	if res := <-answered; res.Code != http.StatusTooManyRequests {
		t.Errorf("%d %s", res.Code, res.Body)
	}
}

// slowReader takes no byte of an answer before it is released.
type slowReader struct {
	*httptest.ResponseRecorder

	reached, release chan struct{}
}

func (s *slowReader) Write(p []byte) (int, error) {
	s.reached <- struct{}{}
	<-s.release
	return s.ResponseRecorder.Write(p)
}

// Nobody's slow reading of an answer holds a turn.
func TestATurnEndsWhenTheAnswerBegins(t *testing.T) {
	t.Parallel()
	m := newMatrix(t)
	turns := quota.NewTurns(2)
	m.handler = m.serve(func(d *api.Deps) { d.Turns = turns })
	b := &busy{matrix: m}
	owner, stranger := b.named("owner"), b.named("owner of another workspace")
	turns.See(stranger.who)
	slow := &slowReader{httptest.NewRecorder(), make(chan struct{}), make(chan struct{})}
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		r := httptest.NewRequestWithContext(t.Context(), "GET", api.BasePath+"/jobs", nil)
		r.Header.Set("Authorization", "Bearer "+owner.token)
		m.handler.ServeHTTP(slow, r)
	}()
	<-slow.reached
	turns.See(stranger.who)
	if res := call(t, m.handler, "", owner.token, "GET", "/jobs", ""); res.Code != http.StatusOK {
		t.Errorf("%d %s", res.Code, res.Body)
	}
	close(slow.release)
	<-answered
}
