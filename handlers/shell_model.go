package handlers

import (
	"strconv"
	"strings"
	"time"
	"unicode"

	"fleetboard/internal/accounts"
	"fleetboard/internal/fleet"
	"fleetboard/internal/tenancy"
	"fleetboard/views"
	"fleetboard/views/ui"
)

// maxFleetRows is how many factories the sidebar names.
const maxFleetRows = 8

// frame is what the shell around a page is made of.
type frame struct {
	who        tenancy.Principal
	workspaces []accounts.Workspace // all of the person
	snap       fleet.Snapshot
	theme      views.Theme
	path       string // path and query of the page
}

func (f frame) model() views.Shell {
	m := views.Shell{
		WorkspaceID: f.who.Workspace.String(),
		Person:      f.who.Name,
		Initials:    initials(f.who.Name),
		Theme:       f.theme,
		Now:         clock(f.snap),
		Path:        f.path,
		Fleet:       fleetModel(f.snap),
		CanWrite:    f.who.Can(tenancy.WriteJobs),
		CanManage:   f.who.Can(tenancy.Manage),
	}
	for _, w := range f.workspaces {
		current := w.ID == f.who.Workspace
		if current {
			m.Workspace = w.Name
		}
		m.Workspaces = append(m.Workspaces, views.ShellWorkspace{ID: w.ID.String(), Name: w.Name, Role: string(w.Role), Current: current})
	}
	return m
}

// clock is the database's time of a snapshot, or ours where no factory has
// brought one.
func clock(snap fleet.Snapshot) time.Time {
	if snap.Now.IsZero() {
		return time.Now()
	}
	return snap.Now
}

// initials are the first letters of the first and the last name.
func initials(name string) string {
	words := strings.FieldsFunc(name, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	switch len(words) {
	case 0:
		return "?"
	case 1:
		return strings.ToUpper(string([]rune(words[0])[:min(2, len([]rune(words[0])))]))
	}
	first, last := []rune(words[0])[0], []rune(words[len(words)-1])[0]
	return strings.ToUpper(string([]rune{first, last}))
}

func fleetModel(snap fleet.Snapshot) views.Fleet {
	m := views.Fleet{Free: freeSeats(snap)}
	for i, f := range snap.Factories {
		if i == maxFleetRows {
			m.More = strconv.Itoa(len(snap.Factories)-maxFleetRows) + " more"
			break
		}
		m.Rows = append(m.Rows, fleetRow(f))
	}
	return m
}

// free counts the seats that could take a job now.
func free(snap fleet.Snapshot) int {
	n := 0
	for _, f := range snap.Factories {
		n += f.Free()
	}
	return n
}

func freeSeats(snap fleet.Snapshot) string {
	n := free(snap)
	switch {
	case len(snap.Factories) == 0:
		return "no factory yet"
	case n == 0:
		return "no seat free"
	default:
		return plural(n, "seat", "seats") + " free"
	}
}

func fleetRow(f fleet.Factory) views.FleetRow {
	r := views.FleetRow{
		ID: views.FactoryID(f.Name), Name: f.Name, Pips: pipsOf(f),
		Text:  strconv.Itoa(f.Taken) + " / " + strconv.Itoa(f.Seats),
		Title: plural(f.Taken, "seat", "seats") + " of " + strconv.Itoa(f.Seats) + " taken",
	}
	switch {
	case !f.Live():
		r.Text, r.Tone, r.Title = "dead", ui.Bad, "Dead: none of its agents is heard of"
	case f.Draining:
		r.Text, r.Tone, r.Title = "drain", ui.Warn, "Draining: current jobs may end, no new claims"
	case f.Health != fleet.Healthy:
		r.Tone, r.Title = ui.Warn, "Its heartbeats are late"
	}
	return r
}

// pipsOf are a factory's seats, one mark each.
func pipsOf(f fleet.Factory) ui.Pips {
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
