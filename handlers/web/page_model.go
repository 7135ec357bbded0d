package web

import (
	"strconv"
	"strings"
	"unicode"

	"github.com/fleetboard/fleetboard/internal/accounts/workspaces"
	"github.com/fleetboard/fleetboard/internal/fleet"
	"github.com/fleetboard/fleetboard/internal/screens"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	"github.com/fleetboard/fleetboard/views/layout"
)

// frame is what the shell of a page shows.
type frame struct {
	who        tenancy.Principal
	workspaces []workspaces.Workspace // all of the person
	snap       fleet.Snapshot
	theme      layout.Theme
	path       string // path and query of the page
}

func (f frame) model() layout.Shell {
	m := layout.Shell{
		WorkspaceID: f.who.Workspace.String(),
		AccountID:   f.who.Account.String(),
		Person:      f.who.Name,
		Initials:    initials(f.who.Name),
		Theme:       f.theme,
		Now:         Now(f.snap),
		Path:        f.path,
		Fleet:       FleetModel(f.snap),
		CanWrite:    f.who.Can(tenancy.WriteJobs),
		CanManage:   f.who.Can(tenancy.Manage),
	}
	for _, w := range f.workspaces {
		current := w.ID == f.who.Workspace
		if current {
			m.Workspace = w.Name
		}
		m.Workspaces = append(m.Workspaces, layout.ShellWorkspace{ID: w.ID.String(), Name: w.Name, Role: string(w.Role), Current: current})
	}
	return m
}

// initials returns the first letters of the first and the last name.
func initials(name string) string {
	words := strings.FieldsFunc(name, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	switch len(words) {
	case 0:
		return "?"
	case 1:
		return strings.ToUpper(string([]rune(words[0])[:min(2, len([]rune(words[0])))]))
	}
	first := []rune(words[0])[0]
	last := []rune(words[len(words)-1])[0]
	return strings.ToUpper(string([]rune{first, last}))
}

// CountText returns a count beside an entry of the navigation: "4", "99+", "" for none.
func CountText(n screens.Count) string {
	switch {
	case n.Jobs == 0:
		return ""
	case n.Capped:
		return strconv.Itoa(n.Jobs) + "+"
	default:
		return strconv.Itoa(n.Jobs)
	}
}
