package handlertest

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/internal/accounts/sessions"
	"github.com/fleetboard/fleetboard/internal/eventlog"
)

// Account returns the account that a browser is logged in with.
func (w *Workspace) Account(s *Site) string {
	w.t.Helper()
	ctx, err := w.Sessions.Load(w.t.Context(), s.Cookies["sid"].Value)
	if err != nil {
		w.t.Fatal(err)
	}
	return w.Sessions.GetString(ctx, sessions.Account)
}

// Named gives the person at a browser a name.
func (w *Workspace) Named(s *Site, name string) string {
	w.t.Helper()
	id := w.Account(s)
	dbfactory.RenameAccount(w.t, w.DB, id, name)
	return id
}

// CountEvents counts those of a type.
func (w *Workspace) CountEvents(kind eventlog.Type) int {
	w.t.Helper()
	return dbfactory.EventCount(w.t, w.DB, string(kind))
}

// Invite makes a link on the page and returns its path.
func (w *Workspace) Invite(email, role string) string {
	w.t.Helper()
	doc := Page(w.t, w.Post("/settings/members/invitations", url.Values{"email": {email}, "role": {role}}), http.StatusOK)
	found := linkForm.FindStringSubmatch(strings.TrimSpace(doc.Find("#new-link pre").Text()))
	if found == nil {
		w.t.Fatalf("no link in %q", doc.Find("#new-link").Text())
	}
	if copied := doc.Find("#new-link [data-copy]").AttrOr("data-copy", ""); copied != found[0] {
		w.t.Errorf("the button copies %q", copied)
	}
	return found[1]
}
