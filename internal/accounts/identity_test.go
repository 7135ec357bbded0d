package accounts

import (
	"encoding/json"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"fleetboard/db/dbtest"
	"fleetboard/internal/fault"
	"fleetboard/internal/tenancy"
)

var adaThere = Claims{Issuer: "https://id.example.com", Subject: "sub-ada", Email: testEmail, Name: "Ada There"}

// linked has an owner whose account is linked to adaThere.
func linked(t *testing.T) (setting, tenancy.Principal) {
	t.Helper()
	s := startedWithOwner(t)
	who := s.owner(t)
	if err := s.LinkIdentity(t.Context(), who, adaThere, testPassword, "10.0.0.1"); err != nil {
		t.Fatalf("link: %v", err)
	}
	return s, who
}

// told counts the events of a kind about an identity.
func told(t *testing.T, conn *pgx.Conn, kind string) int {
	t.Helper()
	return count(t, conn, "SELECT count(*) FROM event WHERE type = $1", kind)
}

// An e-mail opens nothing: only issuer and subject do.
func TestLogInAsBySubjectOnly(t *testing.T) {
	s := startedWithOwner(t)
	_, err := s.LogInAs(t.Context(), adaThere)
	wantFault(t, err, fault.NotFound)
	if err := s.LinkIdentity(t.Context(), s.owner(t), adaThere, testPassword, "10.0.0.1"); err != nil {
		t.Fatal(err)
	}
	moved := adaThere
	moved.Email = "ada@new.example.org"
	in, err := s.LogInAs(t.Context(), moved)
	if err != nil || in.ID != s.owner(t).Account || in.Email != testEmail || in.NeedsCode {
		t.Fatalf("%+v, %v", in, err)
	}
	at, err := s.IdentityOf(t.Context(), s.owner(t), adaThere.Issuer)
	if err != nil || !at.Linked || at.Email != moved.Email || at.LastUsed == nil || !at.HasPassword {
		t.Errorf("%+v, %v", at, err)
	}
	for name, other := range map[string]Claims{
		"another subject with the e-mail": {Issuer: adaThere.Issuer, Subject: "sub-eve", Email: testEmail},
		"another issuer":                  {Issuer: "https://id.example.com/", Subject: adaThere.Subject, Email: testEmail},
		"a subject in capitals":           {Issuer: adaThere.Issuer, Subject: "SUB-ADA", Email: testEmail},
		"nobody":                          {},
	} {
		if in, err := s.LogInAs(t.Context(), other); !fault.Is(err, fault.NotFound) {
			t.Errorf("%s: %+v, %v", name, in, err)
		}
	}
}

// A log in by the provider that was under way when all sessions ended begins none.
func TestLogInAsEpoch(t *testing.T) {
	s, who := linked(t)
	before, err := s.LogInAs(t.Context(), adaThere)
	if err != nil {
		t.Fatal(err)
	}
	exec(t, dbtest.Owner(t, s.db), "UPDATE account SET session_epoch = session_epoch + 1 WHERE id = $1", who.Account)
	after, err := s.LogInAs(t.Context(), adaThere)
	if err != nil || after.Epoch != before.Epoch+1 {
		t.Errorf("epochs %d and %d, %v", before.Epoch, after.Epoch, err)
	}
}

func TestLinkIdentity(t *testing.T) {
	s := startedWithOwner(t)
	conn, who := dbtest.Owner(t, s.db), s.owner(t)
	for _, password := range []string{"", "wrong password!"} {
		err := s.LinkIdentity(t.Context(), who, adaThere, password, "10.0.0.1")
		if f := refusal(t, err, fault.Validation); f.Fields["current"] == "" {
			t.Errorf("fields %v", f.Fields)
		}
	}
	if n := count(t, conn, "SELECT count(*) FROM account_identity"); n != 0 {
		t.Fatalf("%d linked without the password", n)
	}
	// Twice is once.
	for range 2 {
		if err := s.LinkIdentity(t.Context(), who, adaThere, testPassword, "10.0.0.1"); err != nil {
			t.Fatal(err)
		}
	}
	if n := told(t, conn, "account.identity_linked"); n != 1 {
		t.Errorf("%d events, want 1", n)
	}
	var actor, kind string
	var payload []byte
	if err := conn.QueryRow(t.Context(), "SELECT actor, actor_kind, payload FROM event WHERE type = 'account.identity_linked'").Scan(&actor, &kind, &payload); err != nil {
		t.Fatal(err)
	}
	var said map[string]string
	if err := json.Unmarshal(payload, &said); err != nil || actor != who.Name || kind != "person" ||
		said["issuer"] != adaThere.Issuer || said["email"] != testEmail || len(said) != 2 {
		t.Errorf("%s, a %s, said %s", actor, kind, payload)
	}
	// Another one there takes the place of none.
	second := Claims{Issuer: adaThere.Issuer, Subject: "sub-ada-2"}
	wantFault(t, s.LinkIdentity(t.Context(), who, second, testPassword, "10.0.0.1"), fault.AlreadyExists)
	// At another provider it is another matter.
	second.Issuer = "https://other.example.com"
	if err := s.LinkIdentity(t.Context(), who, second, testPassword, "10.0.0.1"); err != nil {
		t.Error(err)
	}
}

func TestLinkIdentityOfAnother(t *testing.T) {
	s, who := linked(t)
	token, _, err := s.Invite(t.Context(), who, "eve@example.org", tenancy.RoleViewer)
	if err != nil {
		t.Fatal(err)
	}
	eve, _, err := s.JoinAsNew(t.Context(), token, "Eve", "purple staple wagon")
	if err != nil {
		t.Fatal(err)
	}
	asEve := tenancy.Principal{Kind: tenancy.KindPerson, Workspace: who.Workspace, Account: eve.ID, Role: tenancy.RoleViewer, Name: "Eve"}
	wantFault(t, s.LinkIdentity(t.Context(), asEve, adaThere, "purple staple wagon", "10.0.0.1"), fault.AlreadyExists)
	if in, err := s.LogInAs(t.Context(), adaThere); err != nil || in.ID != who.Account {
		t.Errorf("the identity moved to %+v, %v", in, err)
	}
	agent := tenancy.Principal{Kind: tenancy.KindAgent, Workspace: who.Workspace}
	wantFault(t, s.LinkIdentity(t.Context(), agent, Claims{Issuer: "i", Subject: "s"}, "", ""), fault.Forbidden)
}

func TestUnlinkIdentity(t *testing.T) {
	s, who := linked(t)
	conn := dbtest.Owner(t, s.db)
	exec(t, conn, "UPDATE account SET password_hash = '' WHERE id = $1", who.Account)
	wantFault(t, s.UnlinkIdentity(t.Context(), who, adaThere.Issuer), fault.InUse)
	if _, err := s.LogInAs(t.Context(), adaThere); err != nil {
		t.Fatalf("the only way in is gone: %v", err)
	}
	exec(t, conn, "UPDATE account SET password_hash = 'some' WHERE id = $1", who.Account)
	for range 2 {
		if err := s.UnlinkIdentity(t.Context(), who, adaThere.Issuer); err != nil {
			t.Fatal(err)
		}
	}
	_, err := s.LogInAs(t.Context(), adaThere)
	wantFault(t, err, fault.NotFound)
	if n := told(t, conn, "account.identity_unlinked"); n != 1 {
		t.Errorf("%d events, want 1", n)
	}
}

// invited makes a link for a member.
func invited(t *testing.T, s setting) string {
	t.Helper()
	token, _, err := s.Invite(t.Context(), s.owner(t), "grace@example.org", tenancy.RoleMember)
	if err != nil {
		t.Fatal(err)
	}
	return token
}

var graceThere = Claims{Issuer: "https://id.example.com", Subject: "sub-grace", Email: "grace@navy.example", Name: "Grace"}

func TestJoinAs(t *testing.T) {
	s := startedWithOwner(t)
	token := invited(t, s)
	in, done, err := s.JoinAs(t.Context(), token, graceThere)
	if err != nil || in.Email != graceThere.Email || in.Name != "Grace" || done.Workspace != s.first.Workspace || done.Role != tenancy.RoleMember || done.Already {
		t.Fatalf("%+v, %+v, %v", in, done, err)
	}
	if again, err := s.LogInAs(t.Context(), graceThere); err != nil || again.ID != in.ID {
		t.Errorf("%+v, %v", again, err)
	}
	if who, err := s.Person(t.Context(), in.ID, done.Workspace); err != nil || who.Role != tenancy.RoleMember {
		t.Errorf("%+v, %v", who, err)
	}
	// There is no password, so none fits.
	if _, err := s.LogIn(t.Context(), graceThere.Email, "", Origin{Address: "10.0.0.1"}); !fault.Is(err, fault.Unauthenticated) {
		t.Errorf("logged in without a password: %v", err)
	}
	conn := dbtest.Owner(t, s.db)
	for kind, want := range map[string]int{"account.identity_linked": 1, "member.joined": 1} {
		if n := told(t, conn, kind); n != want {
			t.Errorf("%d events %s, want %d", n, kind, want)
		}
	}
	_, _, err = s.JoinAs(t.Context(), token, Claims{Issuer: graceThere.Issuer, Subject: "sub-late", Email: "late@example.org"})
	wantFault(t, err, fault.NotFound)
	if n := count(t, conn, "SELECT count(*) FROM account"); n != 2 {
		t.Errorf("%d accounts, want 2: a used link left one behind", n)
	}
}

// A refused invitation leaves nothing behind and can still be used.
func TestJoinAsRefused(t *testing.T) {
	s := startedWithOwner(t)
	token := invited(t, s)
	conn := dbtest.Owner(t, s.db)
	for name, one := range map[string]struct {
		claims Claims
		code   fault.Code
	}{
		"the e-mail of an account": {Claims{Issuer: "i", Subject: "sub-eve", Email: testEmail, Name: "Eve"}, fault.Validation},
		"no e-mail":                {Claims{Issuer: "i", Subject: "sub-eve", Name: "Eve"}, fault.Validation},
	} {
		_, _, err := s.JoinAs(t.Context(), token, one.claims)
		if !fault.Is(err, one.code) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if n := count(t, conn, "SELECT (SELECT count(*) FROM account) + (SELECT count(*) FROM account_identity)"); n != 1 {
		t.Errorf("%d rows, want the owner's only", n)
	}
	if _, _, err := s.JoinAs(t.Context(), token, graceThere); err != nil {
		t.Errorf("the invitation is used up: %v", err)
	}
}

// Who has an account joins with it, and keeps the role where it is in already.
func TestJoinAsKnown(t *testing.T) {
	s := startedWithOwner(t)
	first, _, err := s.JoinAs(t.Context(), invited(t, s), graceThere)
	if err != nil {
		t.Fatal(err)
	}
	other, err := s.CreateWorkspace(t.Context(), s.owner(t), "Other")
	if err != nil {
		t.Fatal(err)
	}
	there := s.owner(t)
	there.Workspace = other.ID
	token, _, err := s.Invite(t.Context(), there, "grace@example.org", tenancy.RoleViewer)
	if err != nil {
		t.Fatal(err)
	}
	in, done, err := s.JoinAs(t.Context(), token, graceThere)
	if err != nil || in.ID != first.ID || done.Already || done.Role != tenancy.RoleViewer || done.Workspace != other.ID {
		t.Errorf("%+v, %+v, %v", in, done, err)
	}
	if token, _, err = s.Invite(t.Context(), there, "hopper@example.org", tenancy.RoleAdmin); err != nil {
		t.Fatal(err)
	}
	if _, done, err := s.JoinAs(t.Context(), token, graceThere); err != nil || !done.Already || done.Role != tenancy.RoleViewer {
		t.Errorf("%+v, %v", done, err)
	}
}

// One identity in two browsers at the same moment is one account.
func TestJoinAsAtOnce(t *testing.T) {
	s := startedWithOwner(t)
	ctx, conn := timeout(t), dbtest.Owner(t, s.db)
	var wg sync.WaitGroup
	for n := range 4 {
		token, _, err := s.Invite(ctx, s.owner(t), string(rune('a'+n))+"@example.org", tenancy.RoleMember)
		if err != nil {
			t.Fatal(err)
		}
		wg.Go(func() {
			_, _, err := s.JoinAs(ctx, token, graceThere)
			if err != nil && !fault.Is(err, fault.AlreadyExists) && !fault.Is(err, fault.VersionConflict) {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for what, want := range map[string]int{"account": 2, "account_identity": 1, "membership": 2} {
		if n := count(t, conn, "SELECT count(*) FROM "+what); n != want {
			t.Errorf("%d rows in %s, want %d", n, what, want)
		}
	}
}
