package spend_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/spend"
)

// message returns an entry that is good; change says what matters.
func message(id string, change ...func(*spend.Entry)) spend.Entry {
	e := spend.Entry{ID: id, Provider: "house", Model: "house-1", Session: "s-1", Input: 1, Output: 2, CacheRead: 3,
		CacheWrite: 4, CostUSD: usd("0.5"), Operation: "edit", At: time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)}
	for _, c := range change {
		c(&e)
	}
	return e
}

func usd(text string) *string { return &text }

// An entry is refused by the fields that cannot be kept, and by no others.
func TestWhatAnEntryMayHold(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*spend.Entry)
		field  string // "" is good
	}{
		"as it should be":          {func(*spend.Entry) {}, ""},
		"a cost that is unknown":   {func(e *spend.Entry) { e.CostUSD = nil }, ""},
		"no session, no operation": {func(e *spend.Entry) { e.Session, e.Operation = "", "" }, ""},
		"nothing used":             {func(e *spend.Entry) { e.Input, e.Output, e.CacheRead, e.CacheWrite = 0, 0, 0, 0 }, ""},
		"the most of everything":   {most, ""},
		"no id":                    {func(e *spend.Entry) { e.ID = "" }, "id"},
		"an id of blanks":          {func(e *spend.Entry) { e.ID = "  " }, "id"},
		"an id that is too long":   {func(e *spend.Entry) { e.ID = strings.Repeat("é", 201) }, "id"},
		"an id with a line break":  {func(e *spend.Entry) { e.ID = "a\nb" }, "id"},
		"an id with a NUL":         {func(e *spend.Entry) { e.ID = "a\x00" }, "id"},
		"no UTF-8":                 {func(e *spend.Entry) { e.ID = "\xff" }, "id"},
		"no provider":              {func(e *spend.Entry) { e.Provider = "" }, "provider"},
		"a long provider":          {func(e *spend.Entry) { e.Provider = strings.Repeat("x", 65) }, "provider"},
		"no model":                 {func(e *spend.Entry) { e.Model = "" }, "model"},
		"a long model":             {func(e *spend.Entry) { e.Model = strings.Repeat("x", 129) }, "model"},
		"an escape in the model":   {func(e *spend.Entry) { e.Model = "\x1b[31mred" }, "model"},
		"a long session":           {func(e *spend.Entry) { e.Session = strings.Repeat("x", 201) }, "provider_session"},
		"a long operation":         {func(e *spend.Entry) { e.Operation = strings.Repeat("x", 65) }, "operation"},
		"a C1 control":             {func(e *spend.Entry) { e.Operation = "a\u009bb" }, "operation"},
		"input below 0":            {func(e *spend.Entry) { e.Input = -1 }, "input_tokens"},
		"too much input":           {func(e *spend.Entry) { e.Input = spend.MaxTokens + 1 }, "input_tokens"},
		"the most input there is":  {func(e *spend.Entry) { e.Input = math.MaxInt64 }, "input_tokens"},
		"too much output":          {func(e *spend.Entry) { e.Output = math.MaxInt64 }, "output_tokens"},
		"too much read":            {func(e *spend.Entry) { e.CacheRead = math.MinInt64 }, "cache_read_tokens"},
		"too much written":         {func(e *spend.Entry) { e.CacheWrite = spend.MaxTokens + 1 }, "cache_write_tokens"},
		"too much for an hour":     {func(e *spend.Entry) { e.CacheWrite1h = -1 }, "cache_write_1h_tokens"},
		"too dear":                 {func(e *spend.Entry) { e.CostUSD = usd("1000.01") }, "cost_usd"},
		"no amount":                {func(e *spend.Entry) { e.CostUSD = usd("") }, "cost_usd"},
		"the year 0":               {func(e *spend.Entry) { e.At = time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC) }, "at"},
		"the year 10000":           {func(e *spend.Entry) { e.At = time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC) }, "at"},
	} {
		err := message("m-1", c.change).Check()
		if c.field == "" {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if fields := fault.From(err).Fields; !fault.Is(err, fault.Validation) || len(fields) != 1 || fields[c.field] == "" {
			t.Errorf("%s: %v, fields %v; want %s alone", name, err, fields, c.field)
		}
	}
}

// most makes an entry as big as one can be.
func most(e *spend.Entry) {
	e.ID, e.Provider, e.Model = strings.Repeat("é", 200), strings.Repeat("é", 64), strings.Repeat("é", 128)
	e.Session, e.Operation = strings.Repeat("é", 200), strings.Repeat("é", 64)
	e.Input, e.Output, e.CacheRead, e.CacheWrite = spend.MaxTokens, spend.MaxTokens, spend.MaxTokens, spend.MaxTokens
	e.CacheWrite1h = spend.MaxTokens
	e.CostUSD, e.At = usd("1000"), time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)
}
