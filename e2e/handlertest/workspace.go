package handlertest

import (
	"net/url"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// ElsewhereOwner returns a browser of somebody who owns another workspace and is not
// in this one.
func (w *Workspace) ElsewhereOwner(name string) *Site {
	w.t.Helper()
	s := w.As(tenancy.RoleOwner)
	other := dbfactory.NamedWorkspace(w.t, w.DB, name)
	dbfactory.MoveMember(w.t, w.DB, w.Account(s), other)
	return s
}

// AlsoIn makes the workspace's owner a member of another workspace and returns its id.
func (w *Workspace) AlsoIn(name string, role tenancy.Role) string {
	w.t.Helper()
	other := dbfactory.NamedWorkspace(w.t, w.DB, name)
	dbfactory.AddMember(w.t, w.DB, other, w.Account(w.Site), role)
	return other.String()
}

// SwitchTo puts the person into another workspace.
func (w *Workspace) SwitchTo(workspace, next string) Answer {
	return w.Post("/workspaces/switch", url.Values{"workspace": {workspace}, "next": {next}})
}
