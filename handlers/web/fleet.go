package web

import (
	"strconv"
	"strings"
	"time"

	"github.com/fleetboard/fleetboard/internal/fleet"
	"github.com/fleetboard/fleetboard/views/layout"
	"github.com/fleetboard/fleetboard/views/ui"
)

// AgentsCount returns "3 live factories, 13 agents"; agents that are dead or have ended are not
// counted.
func AgentsCount(snap fleet.Snapshot) string {
	if len(snap.Factories) == 0 {
		return "no factory yet"
	}
	agents := 0
	for _, f := range snap.Factories {
		for _, a := range f.Agents {
			if a.Health != fleet.Dead && a.Health != fleet.Ended {
				agents++
			}
		}
	}
	return Plural(len(LiveFactories(snap)), "live factory", "live factories") + ", " + Plural(agents, "agent", "agents")
}

// FactoryAbout returns a factory's system and engines in a few words.
func FactoryAbout(f fleet.Factory) string {
	return strings.Join(NonBlank([]string{f.OS, strings.Join(f.Engines, ", ")}), " · ")
}

// LiveFactories returns the factories that are neither dead nor ended.
func LiveFactories(snap fleet.Snapshot) []fleet.Factory {
	var list []fleet.Factory
	for _, f := range snap.Factories {
		if f.Live() {
			list = append(list, f)
		}
	}
	return list
}

// LiveFirst returns the factories as the pages list them: live ones, then ended ones, then dead
// ones, each by name.
func LiveFirst(snap fleet.Snapshot) []fleet.Factory {
	list := LiveFactories(snap)
	for _, health := range []fleet.Health{fleet.Ended, fleet.Dead} {
		for _, f := range snap.Factories {
			if f.Health == health {
				list = append(list, f)
			}
		}
	}
	return list
}

// maxFleetRows is how many factories the sidebar names.
const maxFleetRows = 8

// Now returns the database's time of a snapshot, or this process's where the snapshot has none.
func Now(snap fleet.Snapshot) time.Time {
	if snap.Now.IsZero() {
		return time.Now()
	}
	return snap.Now
}

// stopModel returns the bar about what is stopped: the whole fleet, or products.
func stopModel(stops fleet.Stops) layout.Stop {
	if len(stops) == 0 {
		return layout.Stop{}
	}
	first := stops[0]
	m := layout.Stop{Title: "The whole fleet is stopped", Reason: first.Reason, By: first.By.Name, At: first.At}
	switch {
	case first.Product == "":
	case len(stops) == 1:
		m.Title = first.Product + " is stopped"
	default:
		m.Title = first.Product + " and " + Plural(len(stops)-1, "other product", "other products") + " are stopped"
	}
	return m
}

// FleetModel returns the fleet in the sidebar.
func FleetModel(snap fleet.Snapshot) layout.Fleet {
	m := layout.Fleet{Free: FreeSeats(snap), Stop: stopModel(snap.Stops)}
	for i, f := range LiveFirst(snap) {
		if i == maxFleetRows {
			m.More = strconv.Itoa(len(snap.Factories)-maxFleetRows) + " more"
			break
		}
		m.Rows = append(m.Rows, FleetRow(f))
	}
	return m
}

// FreeSeatCount counts the seats that could take a job now.
func FreeSeatCount(snap fleet.Snapshot) int {
	n := 0
	for _, f := range snap.Factories {
		n += f.Free()
	}
	return n
}

// FreeSeats says how many seats could take a job now.
func FreeSeats(snap fleet.Snapshot) string {
	n := FreeSeatCount(snap)
	switch {
	case len(snap.Factories) == 0:
		return "no factory yet"
	case n == 0:
		return "no seat free"
	default:
		return Plural(n, "seat", "seats") + " free"
	}
}

// SeatsText says how many of a factory's seats have a job: "2 of 6 taken".
func SeatsText(f fleet.Factory) string {
	if !f.Live() {
		return Plural(f.Seats, "seat", "seats") + " gone"
	}
	return formatTaken(f) + " taken"
}

func formatTaken(f fleet.Factory) string {
	return strconv.Itoa(f.Taken) + " of " + strconv.Itoa(f.Seats)
}

// FleetRow returns a factory in the sidebar.
func FleetRow(f fleet.Factory) layout.FleetRow {
	r := layout.FleetRow{
		ID: ui.FactoryID(f.Name), Name: f.Name, Pips: SeatPips(f),
		Text:  formatTaken(f),
		Title: formatTaken(f) + " seats taken",
	}
	switch {
	case f.Health == fleet.Ended:
		r.Text, r.Title = "ended", "Ended: its worker is to be started again"
	case !f.Live():
		r.Text, r.Tone, r.Title = "dead", ui.Bad, "Dead: none of its agents is heard of"
	case f.Draining:
		r.Text, r.Tone, r.Title = "drain", ui.Warn, "Draining: current jobs may end, no new claims"
	case f.Health != fleet.Healthy:
		r.Tone, r.Title = ui.Warn, "Its heartbeats are late"
	case !f.TakesJobs():
		r.Tone, r.Title = ui.Warn, "None of its engines works now"
	}
	return r
}

// SeatPips returns the marks for a factory's seats.
func SeatPips(f fleet.Factory) ui.Pips {
	open := max(0, f.Seats-f.Taken)
	switch {
	case !f.Live():
		return ui.Pips{Off: f.Seats}
	case f.Draining:
		return ui.Pips{Drain: f.Taken, Free: open}
	default:
		return ui.Pips{On: f.Taken, Free: open}
	}
}
