package web

import (
	"testing"

	"github.com/fleetboard/fleetboard/internal/fleet"
)

// The page of agents and the sidebar count the same: the seats that have a job.
func TestSeatsAreCountedAlike(t *testing.T) {
	t.Parallel()
	idle, busy := fleet.Agent{MaxConcurrentJobs: 1}, fleet.Agent{MaxConcurrentJobs: 1, Taken: 1}
	for _, c := range []struct {
		page, sidebar string
		f             fleet.Factory
	}{
		{"1 of 4 taken", "1 of 4", fleet.Factory{Seats: 4, Taken: 1, Agents: []fleet.Agent{idle, busy}}},
		{"1 of 1 taken", "1 of 1", fleet.Factory{Seats: 1, Taken: 1, Agents: []fleet.Agent{busy, idle}}},
		{"1 of 4 taken", "drain", fleet.Factory{Seats: 4, Taken: 1, Draining: true, Agents: []fleet.Agent{busy}}},
		{"4 seats gone", "dead", fleet.Factory{Seats: 4, Health: fleet.Dead}},
	} {
		if page, sidebar := SeatsText(c.f), FleetRow(c.f).Text; page != c.page || sidebar != c.sidebar {
			t.Errorf("%q and %q, want %q and %q", page, sidebar, c.page, c.sidebar)
		}
	}
}
