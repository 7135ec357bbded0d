package statuspage

import (
	"testing"

	"github.com/fleetboard/fleetboard/internal/notifier"
)

func TestWakeupsSayWhatGoesOnWithoutThem(t *testing.T) {
	for want, is := range map[string]notifier.Status{
		"PostgreSQL (LISTEN) is connected": {Transport: "listen", Connected: true},
		"NATS is connected":                {Transport: "nats", Connected: true},
		"NATS is not connected: waiting claims find jobs of other processes by a look every 2 s": {Transport: "nats"},
		"None: waiting claims find jobs of other processes by a look every 2 s":                  {Transport: "poll"},
	} {
		if got := wakeupsText(is); got != want {
			t.Errorf("%+v: %q, want %q", is, got, want)
		}
	}
}
