package report

import (
	"encoding/json"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/fleetboard/fleetboard/internal/dispatch/lease"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/jobs/joblog"
)

// FuzzLogLines: a line is refused with its field, or is one that PostgreSQL keeps.
func FuzzLogLines(f *testing.F) {
	for _, seed := range []string{`{}`, `{"a":1}`, `[]`, `null`, ``, `{"a":"\u0000"}`, `{"a":"\\u0000"}`, `{"\u0000":1}`, `{"a":"\ud800"}`, `{"a":1e999}`, "{\"a\":\"\xff\"}"} {
		f.Add("INFO", "test.slow", "took 2 s\x1b[31m", seed, int64(0))
		f.Add(seed, seed, seed, seed, int64(-1)<<50)
	}
	f.Fuzz(func(t *testing.T, level, event, message, details string, at int64) {
		when := time.Unix(at%(1<<40), 0)
		line := joblog.Line{Level: joblog.Level(level), Event: event, Message: message, Details: json.RawMessage(details), At: &when}
		err := checkLines([]joblog.Line{line})
		if err != nil {
			if !fault.Is(err, fault.Validation) || len(fault.From(err).Fields) == 0 {
				t.Fatalf("%v", err)
			}
			return
		}
		if !utf8.ValidString(message) || !utf8.ValidString(event) || utf8.RuneCountInString(message) > lease.MaxLogMessage || utf8.RuneCountInString(event) > maxLogEvent {
			t.Errorf("%q and %q came through", event, message)
		}
		if details != "" && !json.Valid([]byte(details)) || len(details) > maxLogDetails {
			t.Errorf("%q came through", details)
		}
		if y := when.UTC().Year(); y < 1 || y > 9999 {
			t.Errorf("the year %d came through", y)
		}
		if room := (logRoom{bytes: line.Size()}); room.fitting([]joblog.Line{line}) != 1 || (logRoom{bytes: line.Size() - 1}).fitting([]joblog.Line{line}) != 0 {
			t.Errorf("a line of %d bytes does not fit where it does", line.Size())
		}
	})
}
