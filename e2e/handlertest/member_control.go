package handlertest

import (
	"github.com/fleetboard/fleetboard/internal/accounts/tokens"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// NewToken makes a personal token of a browser's person.
func (w *Workspace) NewToken(s *Site) string {
	w.t.Helper()
	id, _ := ids.Parse(w.Account(s))
	who, err := w.Accounts.Workspaces.Person(w.t.Context(), id, w.Workspace)
	if err != nil {
		w.t.Fatal(err)
	}
	token, err := w.Accounts.Tokens.Issue(w.t.Context(), who, tokens.NewToken{Kind: tenancy.KindPerson, Name: "script"})
	if err != nil {
		w.t.Fatal(err)
	}
	return token
}
