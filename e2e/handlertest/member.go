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
func (d *Desk) Account(s *Site) string {
	d.t.Helper()
	ctx, err := d.Sessions.Load(d.t.Context(), s.Cookies["sid"].Value)
	if err != nil {
		d.t.Fatal(err)
	}
	return d.Sessions.GetString(ctx, sessions.Account)
}

// Named gives the person at a browser a name.
func (d *Desk) Named(s *Site, name string) string {
	d.t.Helper()
	id := d.Account(s)
	dbfactory.RenameAccount(d.t, d.DB, id, name)
	return id
}

// CountEvents counts those of a type.
func (d *Desk) CountEvents(kind eventlog.Type) int {
	d.t.Helper()
	return dbfactory.EventCount(d.t, d.DB, string(kind))
}

// Invite makes a link on the page and returns its path.
func (d *Desk) Invite(email, role string) string {
	d.t.Helper()
	doc := Page(d.t, d.Post("/settings/members/invitations", url.Values{"email": {email}, "role": {role}}), http.StatusOK)
	found := linkForm.FindStringSubmatch(strings.TrimSpace(doc.Find("#new-link pre").Text()))
	if found == nil {
		d.t.Fatalf("no link in %q", doc.Find("#new-link").Text())
	}
	if copied := doc.Find("#new-link [data-copy]").AttrOr("data-copy", ""); copied != found[0] {
		d.t.Errorf("the button copies %q", copied)
	}
	return found[1]
}
