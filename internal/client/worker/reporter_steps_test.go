package worker

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/fleetboard/fleetboard/api"
	"github.com/fleetboard/fleetboard/internal/client"
	"github.com/fleetboard/fleetboard/internal/client/engines"
	"github.com/fleetboard/fleetboard/internal/client/engines/transcript"
)

// scribe is a server that keeps a transcript as the real one does.
type scribe struct {
	steps  []api.NewStep
	away   bool // it answers 503
	mute   bool // it keeps what comes, and answers 503
	refuse int  // it answers this
}

func (s *scribe) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	if r.Method == http.MethodGet {
		fmt.Fprintf(w, `{"items": [], "last": %d}`, len(s.steps))
		return
	}
	var batch api.StepBatch
	if err := json.NewDecoder(r.Body).Decode(&batch); s.away || err != nil || len(batch.Steps) > 500 {
		http.Error(w, "away", http.StatusServiceUnavailable)
		return
	}
	if s.refuse > 0 {
		w.WriteHeader(s.refuse)
		fmt.Fprintf(w, `{"code": "stale_epoch", "status": %d}`, s.refuse)
		return
	}
	if r.URL.Path == "/api/v1/fleet/steps" {
		if batch.Steps[0].N > int64(len(s.steps))+1 {
			w.WriteHeader(http.StatusConflict)
			fmt.Fprintf(w, `{"code": "step_gap", "status": 409, "next_step": %d}`, len(s.steps)+1)
			return
		}
		for _, one := range batch.Steps {
			if one.N == int64(len(s.steps))+1 {
				s.steps = append(s.steps, one)
			}
		}
	}
	if s.mute {
		http.Error(w, "the answer is lost", http.StatusServiceUnavailable)
		return
	}
	fmt.Fprint(w, `{"directive": "continue", "expires_at": null}`)
}

func scribed(t *testing.T) (*scribe, *reporter) {
	t.Helper()
	s := &scribe{}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	connection, err := client.New(server.URL, "token", api.Options{})
	if err != nil {
		t.Fatal(err)
	}
	_, secret := readSecrets(api.Job{SecretKeys: []string{"key"}, InputContext: json.RawMessage(`{"key": "hunter22"}`)})
	return s, newReporter(newLease("FB-1", 1, sinceBoot()+time.Minute), connection, secret, func(string, []string) {})
}

func did(kind, tool, text string) engines.Event {
	return engines.Event{Did: []transcript.Step{{At: time.Now(), Kind: kind, Tool: tool, Text: text}}}
}

// titles returns what the steps say in a line.
func (s *scribe) titles() string {
	var all []string
	for i, one := range s.steps {
		if one.N != int64(i)+1 {
			all = append(all, fmt.Sprintf("NUMBER %d", one.N))
		}
		all = append(all, one.Title)
	}
	return strings.Join(all, ", ")
}

func (s *scribe) want(t *testing.T, want string) {
	t.Helper()
	if got := s.titles(); got != want {
		t.Errorf("the transcript is %q; want %q", got, want)
	}
}

// Steps arrive once and in order, whether the server is away or its answer is lost.
func TestStepsArriveOnce(t *testing.T) {
	s, r := scribed(t)
	flush := func(want bool) {
		t.Helper()
		if r.flush(t.Context()) != want {
			t.Fatalf("the server has decided: %t", !want)
		}
	}
	r.event(did("message", "", "one\nmore of it"))
	s.away = true
	flush(false)
	r.event(did("message", "", "two"))
	s.away, s.mute = false, true
	flush(false)
	r.event(did("message", "", "three"))
	s.mute = false
	flush(true)
	r.event(did("message", "", "four"))
	flush(true)
	s.want(t, "one, two, three, four")
	if got := s.steps[0].Text; got == nil || *got != "one\nmore of it" {
		t.Errorf("the first says %v", got)
	}
	if s.steps[1].Text != nil {
		t.Errorf("the second says %q twice", *s.steps[1].Text)
	}
}

// A process that takes an attempt over goes on behind what the one before it has sent; so does one whose server
// has forgotten steps.
func TestStepsGoOnBehindThoseOfBefore(t *testing.T) {
	s, r := scribed(t)
	s.steps = []api.NewStep{{N: 1, Title: "of before"}, {N: 2, Title: "too"}}
	r.steps.unknown = true
	r.event(did("message", "", "three"))
	for range 2 {
		r.event(did("message", "", "four"))
		if !r.flush(t.Context()) {
			t.Fatal("the server has not decided")
		}
	}
	s.want(t, "of before, too, three, four, four")
	s.steps = s.steps[:1] // it was restored
	r.event(did("message", "", "five"))
	if r.flush(t.Context()) || !r.flush(t.Context()) {
		t.Fatal("the second try is to be taken")
	}
	s.want(t, "of before, five")
}

// What cannot be sent any more is forgotten, and the rest goes with the report of the end.
func TestTheRestOfTheSteps(t *testing.T) {
	s, r := scribed(t)
	for i := range 1200 {
		r.event(did("message", "", fmt.Sprint("step ", i)))
	}
	calls := r.restSteps("FB-1")
	if len(calls) != 3 || calls[2].Steps[0].N != 1001 || len(calls[2].Steps) != 200 {
		t.Fatalf("%d calls", len(calls))
	}
	s.refuse = http.StatusConflict
	for range 3 {
		if !r.flush(t.Context()) {
			t.Fatal("the server has not decided")
		}
	}
	if n := r.waitingSteps(); n != 0 {
		t.Errorf("%d steps of another epoch wait", n)
	}
}

// Hostile and greedy output: 10 MB, control characters, secrets, more steps than there is room for.
func TestStepsAreBounded(t *testing.T) {
	s, r := scribed(t)
	r.event(did("output", "Bash", "begins "+strings.Repeat("ä", 5<<20)+" ends"))
	r.event(did("tool", "Ba\x1bsh", "a\x00b hunter22\n\x1b[31m\u202e"))
	r.event(engines.Event{Did: []transcript.Step{{Kind: "edit", Path: "a\nhunter22", Title: "hunter22", Text: "+hunter22", Tokens: 1 << 40, Cost: "0.5"}}})
	if !r.flush(t.Context()) {
		t.Fatal("the server has not decided")
	}
	all, err := json.Marshal(s.steps)
	if err != nil {
		t.Fatal(err)
	}
	if len(s.steps) != 3 || len(all) > 40_000 || strings.Contains(string(all), "hunter22") || strings.Contains(string(all), `\u0000`) {
		t.Errorf("%d steps in %d bytes", len(s.steps), len(all))
	}
	if text := *s.steps[0].Text; !strings.HasPrefix(text, "begins ää") || !strings.HasSuffix(text, "ä ends") || !strings.Contains(text, "bytes are left out") {
		t.Errorf("it is %.50q", text)
	}
	if s.steps[2].Path == nil || *s.steps[2].Path != "a [secret]" || *s.steps[2].Tokens != api.MaxNewStepTokens {
		t.Errorf("the edit is %+v", s.steps[2])
	}
	s.away = true
	for range maxKeptSteps + 10 {
		r.event(did("message", "", "again"))
	}
	s.away = false
	for r.waitingSteps() > 0 {
		r.flush(t.Context())
	}
	r.event(did("message", "", "last"))
	r.flush(t.Context())
	if n := len(s.steps); n != 3+maxKeptSteps+2 || s.steps[n-2].Title != "10 steps are left out: the server was away for too long." {
		t.Errorf("%d steps, the last but one %q", n, s.steps[n-2].Title)
	}
}

// Lines of a command that come one after the other are one step, as long as none of them was sent.
func TestLinesAreJoined(t *testing.T) {
	s, r := scribed(t)
	for _, one := range []engines.Event{did("tool", "sh", "make"), did("output", "stdout", "a"), did("output", "stdout", "b"), did("output", "stderr", "c"),
		did("output", "stdout", "d")} {
		r.event(one)
	}
	r.flush(t.Context())
	r.event(did("output", "stdout", "e"))
	r.event(did("output", "stdout", "f"))
	r.flush(t.Context())
	var all []string
	for _, one := range s.steps {
		all = append(all, words(one))
	}
	if got := strings.Join(all, "|"); got != "make|a\nb|c|d|e\nf" {
		t.Errorf("%q", got)
	}
}
