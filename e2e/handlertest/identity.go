package handlertest

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/internal/accounts/devices"
	"github.com/fleetboard/fleetboard/internal/accounts/idptest"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// ToAcme opens a page that leads to the provider and gives the page there.
func (s *Site) ToAcme(t *testing.T, path string) string {
	t.Helper()
	res := s.Get(path)
	WantStatus(t, res, http.StatusSeeOther)
	page := res.Header.Get("Location")
	if !strings.HasPrefix(page, s.Provider.Issuer()+"/") {
		t.Fatalf("%s leads to %s, not to the provider", path, page)
	}
	return page
}

// Arrive opens the callback as a browser does that another site redirects.
func (s *Site) Arrive(to *url.URL) Answer {
	r := Request(http.MethodGet, to.RequestURI(), nil)
	r.Header.Set("Sec-Fetch-Site", "cross-site")
	return s.Do(r)
}

// Via logs in at the provider and comes back.
func (s *Site) Via(t *testing.T, path string, who idptest.Person) Answer {
	t.Helper()
	return s.Arrive(Back(t, s.ToAcme(t, path), who))
}

// ViaOrOn is via for somebody who may be logged in already.
func (s *Site) ViaOrOn(t *testing.T, path string) Answer {
	t.Helper()
	if res := s.Get(path); !strings.HasPrefix(res.Header.Get("Location"), s.Provider.Issuer()) {
		return res
	}
	return s.Via(t, path, AdaThere)
}

// LinkAda makes the owner's identity at the provider, as linking would.
func (s *Site) LinkAda(t *testing.T) {
	t.Helper()
	dbfactory.Identity(t, s.DB, s.Provider.Issuer(), AdaThere.Subject, OwnerEmail)
}

// Age makes what the session keeps older than it is.
func (s *Site) Age(t *testing.T, name string, by time.Duration) {
	t.Helper()
	ctx, err := s.Sessions.Load(context.Background(), s.Cookies["sid"].Value)
	if err != nil {
		t.Fatal(err)
	}
	kept := s.Sessions.GetString(ctx, name)
	at, rest, found := strings.Cut(kept[strings.Index(kept, `"At":"`)+6:], `"`)
	when, err := time.Parse(time.RFC3339Nano, at)
	if err != nil || !found {
		t.Fatalf("%s keeps no time: %v", name, err)
	}
	s.Sessions.Put(ctx, name, strings.TrimSuffix(kept, at+`"`+rest)+when.Add(-by).Format(time.RFC3339Nano)+`"`+rest)
	if _, _, err := s.Sessions.Commit(ctx); err != nil {
		t.Fatal(err)
	}
}

// Move takes a value out of another session into the browser's.
func (s *Site) Move(t *testing.T, from, name string) {
	t.Helper()
	there, err := s.Sessions.Load(context.Background(), from)
	if err != nil {
		t.Fatal(err)
	}
	here, err := s.Sessions.Load(context.Background(), s.Cookies["sid"].Value)
	if err != nil {
		t.Fatal(err)
	}
	s.Sessions.Put(here, name, s.Sessions.GetString(there, name))
	if _, _, err := s.Sessions.Commit(here); err != nil {
		t.Fatal(err)
	}
}

// Invite makes an invitation as the owner and gives its token.
func (s *Site) Invite(t *testing.T, email string) string {
	t.Helper()
	in, err := s.Accounts.LogIns.LogIn(t.Context(), OwnerEmail, OwnerPassword, devices.Origin{Address: "10.0.0.9"})
	if err != nil {
		t.Fatal(err)
	}
	list, err := s.Accounts.Workspaces.Of(t.Context(), in.ID)
	if err != nil {
		t.Fatal(err)
	}
	who, err := s.Accounts.Workspaces.Person(t.Context(), in.ID, list[0].ID)
	if err != nil {
		t.Fatal(err)
	}
	token, _, err := s.Accounts.Members.Invite(t.Context(), who, email, tenancy.RoleMember)
	if err != nil {
		t.Fatal(err)
	}
	return token
}
