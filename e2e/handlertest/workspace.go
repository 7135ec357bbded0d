package handlertest

import (
	"net/url"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// ElsewhereOwner returns a browser of somebody who owns another workspace and is not
// in this one.
func (d *Desk) ElsewhereOwner(name string) *Site {
	d.t.Helper()
	s := d.As(tenancy.RoleOwner)
	other := dbfactory.NamedWorkspace(d.t, d.DB, name)
	dbfactory.MoveMember(d.t, d.DB, d.Account(s), other)
	return s
}

// AlsoIn makes the desk's owner a member of another workspace and returns its id.
func (d *Desk) AlsoIn(name string, role tenancy.Role) string {
	d.t.Helper()
	other := dbfactory.NamedWorkspace(d.t, d.DB, name)
	dbfactory.AddMember(d.t, d.DB, other, d.Account(d.Site), role)
	return other.String()
}

// SwitchTo puts the person into another workspace.
func (d *Desk) SwitchTo(workspace, next string) Answer {
	return d.Post("/workspaces/switch", url.Values{"workspace": {workspace}, "next": {next}})
}
