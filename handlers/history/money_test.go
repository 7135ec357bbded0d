package history

import (
	"testing"

	"github.com/fleetboard/fleetboard/internal/eventlog"
)

// Amounts of events are written as they are everywhere, though events have them with all places.
func TestAmountsInEvents(t *testing.T) {
	for value, want := range map[string]string{"180.000000000": "$180.00", "351.756691300": "$351.76", "0.000001700": "$0.0000017", "": ""} {
		if got := changeValue(eventlog.Change{Field: "limit_usd"}, value, "").String(); got != want {
			t.Errorf("a change to %q is told as %q; want %q", value, got, want)
		}
		priced := eventlog.Event{Type: eventlog.UsagePriced}
		if got := FactText(priced, map[string]any{"entries": 2.0, "cost_usd": value}).String(); got != "2 entries, "+want {
			t.Errorf("usage priced at %q is told as %q", value, got)
		}
	}
	if got := fieldName("limit_usd"); got != "limit" {
		t.Errorf("the field is called %q", got)
	}
}
