package statuspage

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fleetboard/fleetboard/internal/coordinator"
	"github.com/fleetboard/fleetboard/internal/leadership/servers"
	"github.com/fleetboard/fleetboard/internal/notifier"
	view "github.com/fleetboard/fleetboard/views/statuspage"
	"github.com/fleetboard/fleetboard/views/ui"
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

// Every server that lives is named, and the one that coordinates is marked.
func TestServersAreNamed(t *testing.T) {
	since := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	m := pageData{now: since, status: coordinator.Status{Active: true, Holder: "two/1/b"}, servers: []servers.Server{
		{Name: "one/1/a", Version: "v1.2.0, schema 74", Since: since}, {Name: "two/1/b", Version: "v1.3.0, schema 75", Since: since}}}.model()
	want := []view.Server{{Name: "one/1/a", Version: "v1.2.0, schema 74", Since: ui.Day(since)},
		{Name: "two/1/b", Version: "v1.3.0, schema 75", Since: ui.Day(since), Coordinates: true}}
	if diff := cmp.Diff(want, m.Servers); diff != "" {
		t.Errorf("servers (-want +got):\n%s", diff)
	}
}
