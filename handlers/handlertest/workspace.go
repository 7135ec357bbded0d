package handlertest

import (
	"net/url"

	"fleetboard/db/dbfactory"
	"fleetboard/internal/tenancy"
)

// ElsewhereOwner is a browser of somebody who owns another workspace and is not
// in this one.
func (d *Desk) ElsewhereOwner(name string) *Site {
	d.t.Helper()
	s := d.As(tenancy.RoleOwner)
	other := dbfactory.Workspace(d.t, d.DB)
	dbfactory.Exec(d.t, d.DB, `UPDATE workspace SET name = $2 WHERE id = $1`, other, name)
	dbfactory.Exec(d.t, d.DB, `UPDATE membership SET workspace_id = $2 WHERE account_id = $1::uuid`, d.IdOf(s), other)
	return s
}

// AlsoIn makes the desk's owner a member of another workspace and returns its id.
func (d *Desk) AlsoIn(name string, role tenancy.Role) string {
	d.t.Helper()
	other := dbfactory.Workspace(d.t, d.DB)
	dbfactory.Exec(d.t, d.DB, `UPDATE workspace SET name = $2 WHERE id = $1`, other, name)
	dbfactory.Exec(d.t, d.DB, `INSERT INTO membership (workspace_id, account_id, role) VALUES ($1, $2::uuid, $3)`, other,
		d.IdOf(d.Site), string(role))
	return other.String()
}

// SwitchTo puts the person into another workspace.
func (d *Desk) SwitchTo(workspace, next string) Answer {
	return d.Post("/workspaces/switch", url.Values{"workspace": {workspace}, "next": {next}})
}
