package identities_test

import (
	"encoding/json"
	"sync"
	"testing"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/db/dbtest"
	"github.com/fleetboard/fleetboard/internal/accounts/accountstest"
	"github.com/fleetboard/fleetboard/internal/accounts/devices"
	"github.com/fleetboard/fleetboard/internal/accounts/oidc"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

var adaThere = oidc.Claims{Issuer: "https://id.example.com", Subject: "sub-ada", Email: accountstest.Email, Name: "Ada There"}

// linked has an owner whose account is linked to adaThere.
func linked(t *testing.T) (accountstest.Setting, tenancy.Principal) {
	t.Helper()
	s := accountstest.StartedWithOwner(t)
	who := s.Owner(t)
	if err := s.Identities.Link(t.Context(), who, adaThere, accountstest.Password, "10.0.0.1"); err != nil {
		t.Fatalf("link: %v", err)
	}
	return s, who
}

// An e-mail opens nothing: only issuer and subject do.
func TestLogInAsBySubjectOnly(t *testing.T) {
	s := accountstest.StartedWithOwner(t)
	_, err := s.Identities.LogInAs(t.Context(), adaThere)
	accountstest.WantFault(t, err, fault.NotFound)
	if err := s.Identities.Link(t.Context(), s.Owner(t), adaThere, accountstest.Password, "10.0.0.1"); err != nil {
		t.Fatal(err)
	}
	moved := adaThere
	moved.Email = "ada@new.example.org"
	in, err := s.Identities.LogInAs(t.Context(), moved)
	if err != nil || in.ID != s.Owner(t).Account || in.Email != accountstest.Email || in.NeedsCode {
		t.Fatalf("%+v, %v", in, err)
	}
	at, err := s.Identities.Of(t.Context(), s.Owner(t), adaThere.Issuer)
	if err != nil || !at.Linked || at.Email != moved.Email || at.LastUsed == nil || !at.HasPassword {
		t.Errorf("%+v, %v", at, err)
	}
	for name, other := range map[string]oidc.Claims{
		"another subject with the e-mail": {Issuer: adaThere.Issuer, Subject: "sub-eve", Email: accountstest.Email},
		"another issuer":                  {Issuer: "https://id.example.com/", Subject: adaThere.Subject, Email: accountstest.Email},
		"a subject in capitals":           {Issuer: adaThere.Issuer, Subject: "SUB-ADA", Email: accountstest.Email},
		"nobody":                          {},
	} {
		if in, err := s.Identities.LogInAs(t.Context(), other); !fault.Is(err, fault.NotFound) {
			t.Errorf("%s: %+v, %v", name, in, err)
		}
	}
}

// A log in by the provider that was under way when all sessions ended begins none.
func TestLogInAsEpoch(t *testing.T) {
	s, who := linked(t)
	before, err := s.Identities.LogInAs(t.Context(), adaThere)
	if err != nil {
		t.Fatal(err)
	}
	accountstest.Exec(t, dbtest.Owner(t, s.DB), "UPDATE account SET session_epoch = session_epoch + 1 WHERE id = $1", who.Account)
	after, err := s.Identities.LogInAs(t.Context(), adaThere)
	if err != nil || after.Epoch != before.Epoch+1 {
		t.Errorf("epochs %d and %d, %v", before.Epoch, after.Epoch, err)
	}
}

func TestLinkIdentity(t *testing.T) {
	s := accountstest.StartedWithOwner(t)
	conn, who := dbtest.Owner(t, s.DB), s.Owner(t)
	for _, password := range []string{"", "wrong password!"} {
		err := s.Identities.Link(t.Context(), who, adaThere, password, "10.0.0.1")
		if f := accountstest.Refusal(t, err, fault.Validation); f.Fields["current"] == "" {
			t.Errorf("fields %v", f.Fields)
		}
	}
	if n := accountstest.Count(t, conn, "SELECT count(*) FROM account_identity"); n != 0 {
		t.Fatalf("%d linked without the password", n)
	}
	// Twice is once.
	for range 2 {
		if err := s.Identities.Link(t.Context(), who, adaThere, accountstest.Password, "10.0.0.1"); err != nil {
			t.Fatal(err)
		}
	}
	if n := dbfactory.CountEvents(t, conn, "account.identity_linked"); n != 1 {
		t.Errorf("%d events, want 1", n)
	}
	var actor, kind string
	var payload []byte
	if err := conn.QueryRow(t.Context(), "SELECT actor, actor_kind, payload FROM event WHERE type = 'account.identity_linked'").Scan(&actor, &kind, &payload); err != nil {
		t.Fatal(err)
	}
	var said map[string]string
	if err := json.Unmarshal(payload, &said); err != nil || actor != who.Name || kind != "person" ||
		said["issuer"] != adaThere.Issuer || said["email"] != accountstest.Email || len(said) != 2 {
		t.Errorf("%s, a %s, said %s", actor, kind, payload)
	}
	// Another one there takes the place of none.
	second := oidc.Claims{Issuer: adaThere.Issuer, Subject: "sub-ada-2"}
	accountstest.WantFault(t, s.Identities.Link(t.Context(), who, second, accountstest.Password, "10.0.0.1"), fault.AlreadyExists)
	// At another provider it is another matter.
	second.Issuer = "https://other.example.com"
	if err := s.Identities.Link(t.Context(), who, second, accountstest.Password, "10.0.0.1"); err != nil {
		t.Error(err)
	}
}

func TestLinkIdentityOfAnother(t *testing.T) {
	s, who := linked(t)
	token, _, err := s.Members.Invite(t.Context(), who, "eve@example.org", tenancy.RoleViewer)
	if err != nil {
		t.Fatal(err)
	}
	eve, _, err := s.Members.JoinAsNew(t.Context(), token, "Eve", "purple staple wagon")
	if err != nil {
		t.Fatal(err)
	}
	asEve := tenancy.Principal{Kind: tenancy.KindPerson, Workspace: who.Workspace, Account: eve.ID, Role: tenancy.RoleViewer, Name: "Eve"}
	accountstest.WantFault(t, s.Identities.Link(t.Context(), asEve, adaThere, "purple staple wagon", "10.0.0.1"), fault.AlreadyExists)
	if in, err := s.Identities.LogInAs(t.Context(), adaThere); err != nil || in.ID != who.Account {
		t.Errorf("the identity moved to %+v, %v", in, err)
	}
	agent := tenancy.Principal{Kind: tenancy.KindAgent, Workspace: who.Workspace}
	accountstest.WantFault(t, s.Identities.Link(t.Context(), agent, oidc.Claims{Issuer: "i", Subject: "s"}, "", ""), fault.Forbidden)
}

func TestUnlinkIdentity(t *testing.T) {
	s, who := linked(t)
	conn := dbtest.Owner(t, s.DB)
	accountstest.Exec(t, conn, "UPDATE account SET password_hash = '' WHERE id = $1", who.Account)
	accountstest.WantFault(t, s.Identities.Unlink(t.Context(), who, adaThere.Issuer), fault.InUse)
	if _, err := s.Identities.LogInAs(t.Context(), adaThere); err != nil {
		t.Fatalf("the only way in is gone: %v", err)
	}
	accountstest.Exec(t, conn, "UPDATE account SET password_hash = 'some' WHERE id = $1", who.Account)
	for range 2 {
		if err := s.Identities.Unlink(t.Context(), who, adaThere.Issuer); err != nil {
			t.Fatal(err)
		}
	}
	_, err := s.Identities.LogInAs(t.Context(), adaThere)
	accountstest.WantFault(t, err, fault.NotFound)
	if n := dbfactory.CountEvents(t, conn, "account.identity_unlinked"); n != 1 {
		t.Errorf("%d events, want 1", n)
	}
}

// invited makes a link for a member.
func invited(t *testing.T, s accountstest.Setting) string {
	t.Helper()
	token, _, err := s.Members.Invite(t.Context(), s.Owner(t), "grace@example.org", tenancy.RoleMember)
	if err != nil {
		t.Fatal(err)
	}
	return token
}

func TestJoinAs(t *testing.T) {
	s := accountstest.StartedWithOwner(t)
	token := invited(t, s)
	in, done, err := s.Identities.JoinAs(t.Context(), token, accountstest.GraceThere)
	if err != nil || in.Email != accountstest.GraceThere.Email || in.Name != "Grace" || done.Workspace != s.First.Workspace || done.Role != tenancy.RoleMember || done.Already {
		t.Fatalf("%+v, %+v, %v", in, done, err)
	}
	if again, err := s.Identities.LogInAs(t.Context(), accountstest.GraceThere); err != nil || again.ID != in.ID {
		t.Errorf("%+v, %v", again, err)
	}
	if who, err := s.Workspaces.Person(t.Context(), in.ID, done.Workspace); err != nil || who.Role != tenancy.RoleMember {
		t.Errorf("%+v, %v", who, err)
	}
	// There is no password, so none fits.
	if _, err := s.LogIns.LogIn(t.Context(), accountstest.GraceThere.Email, "", devices.Origin{Address: "10.0.0.1"}); !fault.Is(err, fault.Unauthenticated) {
		t.Errorf("logged in without a password: %v", err)
	}
	conn := dbtest.Owner(t, s.DB)
	for kind, want := range map[string]int{"account.identity_linked": 1, "member.joined": 1} {
		if n := dbfactory.CountEvents(t, conn, kind); n != want {
			t.Errorf("%d events %s, want %d", n, kind, want)
		}
	}
	_, _, err = s.Identities.JoinAs(t.Context(), token, oidc.Claims{Issuer: accountstest.GraceThere.Issuer, Subject: "sub-late", Email: "late@example.org"})
	accountstest.WantFault(t, err, fault.NotFound)
	if n := accountstest.Count(t, conn, "SELECT count(*) FROM account"); n != 2 {
		t.Errorf("%d accounts, want 2: a used link left one behind", n)
	}
}

// A refused invitation leaves nothing behind and can still be used.
func TestJoinAsRefused(t *testing.T) {
	s := accountstest.StartedWithOwner(t)
	token := invited(t, s)
	conn := dbtest.Owner(t, s.DB)
	for name, one := range map[string]struct {
		claims oidc.Claims
		code   fault.Code
	}{
		"the e-mail of an account": {oidc.Claims{Issuer: "i", Subject: "sub-eve", Email: accountstest.Email, Name: "Eve"}, fault.Validation},
		"no e-mail":                {oidc.Claims{Issuer: "i", Subject: "sub-eve", Name: "Eve"}, fault.Validation},
	} {
		_, _, err := s.Identities.JoinAs(t.Context(), token, one.claims)
		if !fault.Is(err, one.code) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if n := accountstest.Count(t, conn, "SELECT (SELECT count(*) FROM account) + (SELECT count(*) FROM account_identity)"); n != 1 {
		t.Errorf("%d rows, want the owner's only", n)
	}
	if _, _, err := s.Identities.JoinAs(t.Context(), token, accountstest.GraceThere); err != nil {
		t.Errorf("the invitation is used up: %v", err)
	}
}

// Who has an account joins with it, and keeps the role where it is in already.
func TestJoinAsKnown(t *testing.T) {
	s := accountstest.StartedWithOwner(t)
	first, _, err := s.Identities.JoinAs(t.Context(), invited(t, s), accountstest.GraceThere)
	if err != nil {
		t.Fatal(err)
	}
	other, err := s.Workspaces.Create(t.Context(), s.Owner(t), "Other")
	if err != nil {
		t.Fatal(err)
	}
	there := s.Owner(t)
	there.Workspace = other.ID
	token, _, err := s.Members.Invite(t.Context(), there, "grace@example.org", tenancy.RoleViewer)
	if err != nil {
		t.Fatal(err)
	}
	in, done, err := s.Identities.JoinAs(t.Context(), token, accountstest.GraceThere)
	if err != nil || in.ID != first.ID || done.Already || done.Role != tenancy.RoleViewer || done.Workspace != other.ID {
		t.Errorf("%+v, %+v, %v", in, done, err)
	}
	if token, _, err = s.Members.Invite(t.Context(), there, "hopper@example.org", tenancy.RoleAdmin); err != nil {
		t.Fatal(err)
	}
	if _, done, err := s.Identities.JoinAs(t.Context(), token, accountstest.GraceThere); err != nil || !done.Already || done.Role != tenancy.RoleViewer {
		t.Errorf("%+v, %v", done, err)
	}
}

// One identity in two browsers at the same moment is one account.
func TestJoinAsAtOnce(t *testing.T) {
	s := accountstest.StartedWithOwner(t)
	ctx, conn := accountstest.Timeout(t), dbtest.Owner(t, s.DB)
	var wg sync.WaitGroup
	for n := range 4 {
		token, _, err := s.Members.Invite(ctx, s.Owner(t), string(rune('a'+n))+"@example.org", tenancy.RoleMember)
		if err != nil {
			t.Fatal(err)
		}
		wg.Go(func() {
			_, _, err := s.Identities.JoinAs(ctx, token, accountstest.GraceThere)
			if err != nil && !fault.Is(err, fault.AlreadyExists) && !fault.Is(err, fault.VersionConflict) {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for what, want := range map[string]int{"account": 2, "account_identity": 1, "membership": 2} {
		if n := accountstest.Count(t, conn, "SELECT count(*) FROM "+what); n != want {
			t.Errorf("%d rows in %s, want %d", n, what, want)
		}
	}
}
