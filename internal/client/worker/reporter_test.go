package worker

import (
	"encoding/json"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fleetboard/fleetboard/api"
	"github.com/fleetboard/fleetboard/internal/client"
	"github.com/fleetboard/fleetboard/internal/client/engines"
	"github.com/fleetboard/fleetboard/internal/client/engines/transcript"
	"github.com/fleetboard/fleetboard/internal/client/worker/repos"
)

// listener is a server that notes what it gets about leases.
type listener struct {
	mu        sync.Mutex
	away      bool // it answers 503
	logsAway  bool // it answers 503 to lines
	directive string
	lines     map[string]string // by id
	usage     map[string]int64  // output tokens by entry
	step      string
	refuses   map[string]bool // entries, with a sentence
	malformed string          // the entry for which it refuses a whole call
	log       strings.Builder // the worker's own
}

func (s *listener) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.away || s.logsAway && r.URL.Path == "/api/v1/fleet/logs" {
		http.Error(w, "away", http.StatusServiceUnavailable)
		return
	}
	body, _ := io.ReadAll(r.Body)
	var said struct {
		Lines   []api.NewLogLine
		Step    *string `json:"current_step"`
		Usage   []api.UsageEntry
		Entries []api.UsageEntry
	}
	if err := json.Unmarshal(body, &said); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	var results []string
	for _, l := range said.Lines {
		s.lines[*l.ID] = l.Message
	}
	all := append(said.Usage, said.Entries...)
	if slices.ContainsFunc(all, func(e api.UsageEntry) bool { return e.ID == s.malformed }) {
		http.Error(w, "no text", http.StatusUnprocessableEntity)
		return
	}
	for _, e := range all {
		if s.refuses[e.ID] {
			results = append(results, `{"id": "`+e.ID+`", "status": "refused", "code": "validation_failed", "message": "Some fields need another value.",
				"fields": {"model": "It must be given."}}`)
			continue
		}
		s.usage[e.ID] = e.OutputTokens
		results = append(results, `{"id": "`+e.ID+`", "status": "recorded"}`)
	}
	if said.Step != nil {
		s.step = *said.Step
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, `{"directive": "`+s.directive+`", "expires_at": null, "usage_results": [`+strings.Join(results, ",")+`], "results": [`+
		strings.Join(results, ",")+`]}`)
}

// listen starts a listener, and a reporter that speaks to it.
func listen(t *testing.T) (*listener, *reporter) {
	t.Helper()
	s := &listener{directive: "continue", lines: map[string]string{}, usage: map[string]int64{}}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	connection, err := client.New(server.URL, "token", api.Options{})
	if err != nil {
		t.Fatal(err)
	}
	_, secret := readSecrets(api.Job{SecretKeys: []string{"key"}, InputContext: json.RawMessage(`{"key": "hunter22"}`)})
	w := &Worker{Options: Options{Log: slog.New(slog.NewTextHandler(&s.log, nil))}}
	return s, newReporter(newLease("FB-1", 1, sinceBoot()+time.Minute), connection, secret, w.countRefused)
}

func line(message string) engines.Event {
	return engines.Event{Log: &engines.LogLine{Level: "INFO", Message: message}}
}

// Usage that the server refuses in a report that it takes is an error: of the job's log and of
// the worker's, with its number and the reason.
func TestRefusedUsageIsAnError(t *testing.T) {
	s, r := listen(t)
	s.refuses = map[string]bool{"m1": true, "m3": true}
	r.event(engines.Event{Usage: []transcript.Entry{{ID: "m1", Provider: "p"}, {ID: "m2", Provider: "p", Model: "m", Output: 1}, {ID: "m3", Provider: "p"}}})
	for range 2 {
		if !r.flush(t.Context()) {
			t.Fatal("the server has not decided")
		}
	}
	var told []string
	for _, l := range s.lines {
		told = append(told, l)
	}
	const why = "The usage m3 was refused: Some fields need another value. model: It must be given."
	if all := strings.Join(told, "\n"); len(told) != 2 || !strings.Contains(all, why) {
		t.Errorf("the job's log says %q", all)
	}
	if own := s.log.String(); strings.Count(own, "level=ERROR") != 2 || !strings.Contains(own, "m1 was refused") || !strings.Contains(own, "job=FB-1 refused=2") {
		t.Errorf("the worker's log says %q", own)
	}
	if len(s.usage) != 1 {
		t.Errorf("kept is %v", s.usage)
	}
}

// What is reported while the server is away arrives afterwards, each line once, usage with its
// newest number, and no secret in it.
func TestNothingIsLostWhileTheServerIsAway(t *testing.T) {
	s, r := listen(t)
	s.away = true
	r.event(line("key is hunter22"))
	r.event(engines.Event{Step: "reads hunter22"})
	r.event(engines.Event{Usage: []transcript.Entry{{ID: "m1", Provider: "p", Model: "m", Output: 1}}})
	if r.flush(t.Context()) {
		t.Fatal("a server that is away has decided")
	}
	r.event(line("second"))
	r.event(engines.Event{Usage: []transcript.Entry{{ID: "m1", Provider: "p", Model: "m", Output: 7}}})
	s.away = false
	for range 2 {
		if !r.flush(t.Context()) {
			t.Fatal("the server is back")
		}
	}
	if len(s.lines) != 2 || s.usage["m1"] != 7 || s.step != "reads [secret]" {
		t.Errorf("the server was told %v, %v, %q", s.lines, s.usage, s.step)
	}
	for _, message := range s.lines {
		if strings.Contains(message, "hunter22") {
			t.Errorf("a line tells a secret: %s", message)
		}
	}
	if lines, usage := r.rest(); len(lines)+len(usage) != 0 {
		t.Errorf("still waiting: %v, %v", lines, usage)
	}
}

// Lines that the server does not take keep neither usage nor steps from it, and neither does an
// end that comes meanwhile.
func TestUsageOutlivesLinesThatAreNotTaken(t *testing.T) {
	s, r := listen(t)
	s.logsAway = true
	r.event(line("first"))
	r.event(engines.Event{Step: "reads"})
	r.event(engines.Event{Usage: []transcript.Entry{{ID: "m1", Provider: "p", Model: "m", Output: 7}}})
	if r.flush(t.Context()) {
		t.Fatal("a server that is away has decided")
	}
	s.logsAway = false
	if !r.flush(t.Context()) || s.usage["m1"] != 7 || s.step != "reads" || len(s.lines) != 1 {
		t.Errorf("the server was told %v, %v, %q", s.lines, s.usage, s.step)
	}
}

// An entry for which the server refuses the whole call costs none of those beside it, neither while
// the attempt runs nor at its end.
func TestUsageBesideAMalformedEntryCounts(t *testing.T) {
	s, r := listen(t)
	s.malformed = "m3"
	use := func() {
		for _, id := range []string{"m1", "m2", "m3", "m4", "m5"} {
			r.event(engines.Event{Usage: []transcript.Entry{{ID: id, Provider: "p", Model: "m", Output: 7}}})
		}
	}
	check := func(when string) {
		t.Helper()
		if got := slices.Sorted(maps.Keys(s.usage)); !slices.Equal(got, []string{"m1", "m2", "m4", "m5"}) {
			t.Errorf("%s the server has %v", when, got)
		}
		if logged := s.log.String(); strings.Count(logged, "was refused") != 1 || !strings.Contains(logged, "The usage m3 was refused") {
			t.Errorf("%s the worker logged %s", when, logged)
		}
		clear(s.usage)
		s.log.Reset()
	}
	use()
	if !r.flush(t.Context()) {
		t.Error("the server has not decided")
	}
	check("while the attempt runs")
	use()
	report, err := (&attempt{reporter: r, lease: r.lease}).report(ending{})
	if err != nil {
		t.Fatal(err)
	}
	w := &Worker{Options: Options{Log: slog.New(slog.NewTextHandler(&s.log, nil))}, api: r.api}
	if _, err := w.newDelivery(report, nil).send(t.Context(), nil); err != nil {
		t.Error(err)
	}
	check("at the end")
}

// However much usage waits when an attempt ends, all of it goes with the report, in calls that
// the server takes.
func TestTheReportHasAllUsageThatWaits(t *testing.T) {
	_, r := listen(t)
	for i := range 2*api.MaxUsageReportEntries + 1 {
		r.event(engines.Event{Usage: []transcript.Entry{{ID: strconv.Itoa(i), Provider: "p", Model: "m", Output: 1}}})
	}
	for _, body := range []api.LeaseEnd{&api.Failure{}, nil} {
		a := &attempt{reporter: r, lease: r.lease, at: repos.Attempt{ID: "job"}}
		got, err := a.report(ending{body: body})
		if err != nil {
			t.Fatal(err)
		}
		var sizes []int
		for _, raw := range got.Usage {
			var part api.UsageReport
			if err := json.Unmarshal(raw, &part); err != nil || *part.Job != "job" || *part.Epoch != r.lease.epoch {
				t.Errorf("a part is %s, %v", raw, err)
			}
			sizes = append(sizes, len(part.Entries))
			for _, e := range part.Entries {
				r.event(engines.Event{Usage: []transcript.Entry{{ID: e.ID}}})
			}
		}
		if !slices.Equal(sizes, []int{200, 200, 1}) {
			t.Errorf("the parts of %T have %v entries", body, sizes)
		}
	}
}

// An agent that floods the log has its first lines kept, and the number of the others reported.
func TestAFloodOfLinesIsCut(t *testing.T) {
	s, r := listen(t)
	now := time.Now()
	r.now = func() time.Time { return now }
	for range 3 * maxKept {
		r.event(line("again"))
	}
	if kept := len(r.lines); kept != 10*linesPerSecond || r.leftOut != 3*maxKept-kept {
		t.Fatalf("%d lines were kept, %d left out", kept, r.leftOut)
	}
	now = now.Add(time.Minute)
	r.event(line("calm"))
	for len(r.lines) > 0 {
		if !r.flush(t.Context()) {
			t.Fatal("the server does not answer")
		}
	}
	told := false
	for _, message := range s.lines {
		told = told || strings.Contains(message, "lines were left out")
	}
	if !told {
		t.Error("nobody is told of the lines that were left out")
	}
}

// Each answer brings what the server wants, so that a cancel need not wait for a heartbeat.
func TestReportsBringDirectives(t *testing.T) {
	s, r := listen(t)
	s.directive = "cancel"
	r.event(line("works"))
	r.flush(t.Context())
	if cause, _ := r.lease.ended(); cause != whyCancelled {
		t.Errorf("the cause is %q", cause)
	}
}
