package agents

import (
	"testing"

	"fleetboard/internal/fleet"
)

// A seat that no idle agent fills is not called free, here as in the sidebar.
func TestSeatsText(t *testing.T) {
	idle, busy := fleet.Agent{MaxConcurrentJobs: 1}, fleet.Agent{MaxConcurrentJobs: 1, Taken: 1}
	for want, f := range map[string]fleet.Factory{
		"1 of 4 free":          {Seats: 4, Taken: 1, Agents: []fleet.Agent{idle, busy}},
		"1 of 4 taken":         {Seats: 4, Taken: 1, Agents: []fleet.Agent{busy}},
		"1 of 1 taken":         {Seats: 1, Taken: 1, Agents: []fleet.Agent{busy, idle}},
		"1 of 4 still working": {Seats: 4, Taken: 1, Draining: true, Agents: []fleet.Agent{busy}},
		"4 seats gone":         {Seats: 4, Health: fleet.Dead},
	} {
		if got := seatsText(f); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestMemoryText(t *testing.T) {
	for mb, want := range map[int]string{512: "512 MB", 5120: "5.0 GB"} {
		if got := memoryText(mb); got != want {
			t.Errorf("%d MB is %q, want %q", mb, got, want)
		}
	}
}
