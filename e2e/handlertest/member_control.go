package handlertest

import (
	"github.com/fleetboard/fleetboard/internal/accounts/tokens"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// NewToken makes a personal token of a browser's person.
func (d *Desk) NewToken(s *Site) string {
	d.t.Helper()
	id, _ := ids.Parse(d.Account(s))
	who, err := d.Accounts.Workspaces.Person(d.t.Context(), id, d.Workspace)
	if err != nil {
		d.t.Fatal(err)
	}
	token, err := d.Accounts.Tokens.Issue(d.t.Context(), who, tokens.NewToken{Kind: tenancy.KindPerson, Name: "script"})
	if err != nil {
		d.t.Fatal(err)
	}
	return token
}
