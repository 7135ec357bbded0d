package members_test

import (
	"strings"
	"sync"
	"testing"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/db/dbtest"
	"github.com/fleetboard/fleetboard/internal/accounts/accountstest"
	"github.com/fleetboard/fleetboard/internal/accounts/devices"
	"github.com/fleetboard/fleetboard/internal/accounts/members"
	"github.com/fleetboard/fleetboard/internal/accounts/oidc"
	"github.com/fleetboard/fleetboard/internal/accounts/people"
	"github.com/fleetboard/fleetboard/internal/accounts/secrets"
	"github.com/fleetboard/fleetboard/internal/accounts/workspaces"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

const guestEmail = "bob@example.org"

// invite makes a link by the owner.
func invite(t *testing.T, s accountstest.Setting, email string, role tenancy.Role) string {
	t.Helper()
	token, _, err := s.Members.Invite(t.Context(), s.Owner(t), email, role)
	if err != nil {
		t.Fatal(err)
	}
	return token
}

func TestJoinByALink(t *testing.T) {
	s := accountstest.StartedWithOwner(t)
	conn := dbtest.Owner(t, s.DB)
	token := invite(t, s, " Bob@Example.org ", tenancy.RoleMember)
	if !strings.HasPrefix(token, "fb_invite_") {
		t.Errorf("the link's secret is %s", token[:12])
	}
	in, err := s.Members.OpenInvitation(t.Context(), token)
	if err != nil || in.WorkspaceName != workspaces.FirstName || in.Role != tenancy.RoleMember || in.Email != guestEmail || in.By != s.Owner(t).Name {
		t.Fatalf("the guest sees %+v, %v", in, err)
	}
	if n := accountstest.Count(t, conn, "SELECT count(*) FROM invitation i WHERE i::text LIKE '%' || $1 || '%'", token[10:]); n != 0 {
		t.Error("the link is kept in clear")
	}

	account, done, err := s.Members.JoinAsNew(t.Context(), token, " Bob ", accountstest.Password)
	if err != nil || done.Workspace != s.First.Workspace || done.Already || account.Name != "Bob" {
		t.Fatalf("joined %+v as %+v, %v", done, account, err)
	}
	if _, err := s.LogIns.LogIn(t.Context(), guestEmail, accountstest.Password, devices.Origin{Address: "192.0.2.1"}); err != nil {
		t.Errorf("log in afterwards: %v", err)
	}
	if who, err := s.Workspaces.Person(t.Context(), account.ID, ids.Nil); err != nil || who.Role != tenancy.RoleMember {
		t.Errorf("he is %+v, %v", who, err)
	}
	for kind, actor := range map[string]string{"member.invited": s.Owner(t).Name, "member.joined": "Bob"} {
		n := accountstest.Count(t, conn, "SELECT count(*) FROM event WHERE type = $1 AND actor = $2 AND payload->>'email' = $3 AND payload::text NOT LIKE '%fb_invite%'",
			kind, actor, guestEmail)
		if n != 1 {
			t.Errorf("%d events %s", n, kind)
		}
	}
	if list, err := s.Members.Invitations(t.Context(), s.Owner(t)); err != nil || len(list) != 0 {
		t.Errorf("still open: %+v, %v", list, err)
	}
}

// What is wrong with the form leaves the link as it is, and makes no account.
func TestARefusedFormKeepsTheLink(t *testing.T) {
	s := accountstest.StartedWithOwner(t)
	token := invite(t, s, guestEmail, tenancy.RoleMember)
	f := accountstest.Refusal(t, second(s.Members.JoinAsNew(t.Context(), token, "", "short")), fault.Validation)
	if len(f.Fields) != 2 {
		t.Errorf("fields %v", f.Fields)
	}
	if err := second(s.Members.JoinAsNew(t.Context(), token, "Bob", accountstest.Password)); err != nil {
		t.Errorf("the link afterwards: %v", err)
	}
}

// Whoever holds links, and makes them, does not learn which addresses have accounts
// elsewhere: making a link says nothing, and the one answer of a link does not
// name the cause. It takes the time of a hash, as a success does.
func TestLinksTellNothingOfAccounts(t *testing.T) {
	s := accountstest.StartedWithOwner(t)
	elsewhere := s.Join(t, "Elsewhere", tenancy.RoleViewer)
	if err := s.Members.Leave(t.Context(), elsewhere); err != nil {
		t.Fatal(err)
	}
	account, err := s.People.Guest(t.Context(), elsewhere.Account)
	if err != nil {
		t.Fatal(err)
	}
	token := invite(t, s, account.Email, tenancy.RoleMember)
	f := accountstest.Refusal(t, second(s.Members.JoinAsNew(t.Context(), token, "Bob", accountstest.Password)), fault.Validation)
	_, _, err = s.Identities.JoinAs(t.Context(), token, oidc.Claims{Issuer: "i", Subject: "none", Name: "Eve"})
	none := accountstest.Refusal(t, err, fault.Validation)
	_, _, err = s.Identities.JoinAs(t.Context(), token, oidc.Claims{Issuer: "i", Subject: "taken", Email: account.Email, Name: "Eve"})
	taken := accountstest.Refusal(t, err, fault.Validation)
	for _, text := range []string{none.Fields["email"], taken.Fields["email"]} {
		if text != f.Fields["email"] || text == "" {
			t.Errorf("%q differs from %q", text, f.Fields["email"])
		}
	}
	if n := accountstest.Count(t, dbtest.Owner(t, s.DB), "SELECT count(*) FROM invitation WHERE used_at IS NULL"); n != 1 {
		t.Error("the link is used up")
	}
}

func second(_ people.Account, _ members.Joined, err error) error { return err }

// A link that is unknown, used, expired, replaced or taken back is one and the
// same, and leaves no account behind.
func TestALinkThatIsOver(t *testing.T) {
	s := accountstest.StartedWithOwner(t)
	owner, conn := s.Owner(t), dbtest.Owner(t, s.DB)
	guest := s.Join(t, "Guest", tenancy.RoleViewer)
	if err := s.Members.Leave(t.Context(), guest); err != nil {
		t.Fatal(err)
	}
	over := map[string]func(token string){
		"unknown": func(string) { accountstest.Exec(t, conn, "DELETE FROM invitation") },
		"expired": func(string) {
			accountstest.Exec(t, conn, "UPDATE invitation SET expires_at = now() - interval '1 second'")
		},
		"taken back": func(string) {
			list, err := s.Members.Invitations(t.Context(), owner)
			if err != nil || len(list) != 1 {
				t.Fatalf("open: %+v, %v", list, err)
			}
			if err := s.Members.RevokeInvitation(t.Context(), owner, list[0].ID); err != nil {
				t.Fatal(err)
			}
			accountstest.WantFault(t, s.Members.RevokeInvitation(t.Context(), owner, list[0].ID), fault.NotFound)
		},
		"replaced": func(string) { invite(t, s, guestEmail, tenancy.RoleViewer) },
		"used": func(token string) {
			who := s.Join(t, "Somebody", tenancy.RoleViewer)
			if err := s.Members.Leave(t.Context(), who); err != nil {
				t.Fatal(err)
			}
			if _, err := s.Members.Accept(t.Context(), token, who.Account); err != nil {
				t.Fatal(err)
			}
		},
	}
	texts := map[string]bool{}
	for name, end := range over {
		t.Run(name, func(t *testing.T) {
			accountstest.Exec(t, conn, "DELETE FROM invitation")
			token := invite(t, s, guestEmail, tenancy.RoleMember)
			if _, err := s.Members.OpenInvitation(t.Context(), token); err != nil {
				t.Fatal(err)
			}
			end(token)
			accounts := accountstest.Count(t, conn, "SELECT count(*) FROM account")
			_, open := s.Members.OpenInvitation(t.Context(), token)
			_, accept := s.Members.Accept(t.Context(), token, guest.Account)
			for _, err := range []error{open, accept, second(s.Members.JoinAsNew(t.Context(), token, "Bob", accountstest.Password))} {
				texts[accountstest.Refusal(t, err, fault.NotFound).Message] = true
			}
			if n := accountstest.Count(t, conn, "SELECT count(*) FROM account"); n != accounts {
				t.Errorf("%d accounts were made", n-accounts)
			}
		})
	}
	for _, token := range []string{"", "x", secrets.New(secrets.Setup), secrets.New(secrets.Invitation), s.First.SetupToken} {
		_, err := s.Members.OpenInvitation(t.Context(), token)
		texts[accountstest.Refusal(t, err, fault.NotFound).Message] = true
	}
	if len(texts) != 1 {
		t.Errorf("%d answers tell one link from another", len(texts))
	}
}

// The same person invited again has one link, the new one.
func TestInvitedAgain(t *testing.T) {
	s := accountstest.StartedWithOwner(t)
	old := invite(t, s, guestEmail, tenancy.RoleMember)
	fresh := invite(t, s, "BOB@example.org", tenancy.RoleAdmin)
	list, err := s.Members.Invitations(t.Context(), s.Owner(t))
	if err != nil || len(list) != 1 || list[0].Role != tenancy.RoleAdmin || list[0].Hint != secrets.Hint(fresh) || list[0].Expired {
		t.Errorf("open: %+v, %v", list, err)
	}
	_, err = s.Members.OpenInvitation(t.Context(), old)
	accountstest.WantFault(t, err, fault.NotFound)
	f := accountstest.Refusal(t, third(s.Members.Invite(t.Context(), s.Owner(t), accountstest.Email, tenancy.RoleMember)), fault.Validation)
	if !strings.Contains(f.Fields["email"], "member already") {
		t.Errorf("fields %v", f.Fields)
	}
	if f := accountstest.Refusal(t, third(s.Members.Invite(t.Context(), s.Owner(t), "nobody", "emperor")), fault.Validation); len(f.Fields) != 2 {
		t.Errorf("fields %v", f.Fields)
	}
}

func third(_ string, _ members.PendingInvitation, err error) error { return err }

// Admins invite up to admin; what they gave ends when they may give it no more.
func TestWhoMayInvite(t *testing.T) {
	s := accountstest.StartedWithOwner(t)
	owner := s.Owner(t)
	admin := s.Join(t, "Cem", tenancy.RoleAdmin)
	accountstest.WantFault(t, third(s.Members.Invite(t.Context(), s.Join(t, "Dee", tenancy.RoleMember), guestEmail, tenancy.RoleViewer)), fault.Forbidden)
	accountstest.WantFault(t, third(s.Members.Invite(t.Context(), admin, guestEmail, tenancy.RoleOwner)), fault.Forbidden)
	_, err := s.Members.Invitations(t.Context(), s.Join(t, "Eve", tenancy.RoleMember))
	accountstest.WantFault(t, err, fault.Forbidden)

	byAdmin, _, err := s.Members.Invite(t.Context(), admin, "a@example.org", tenancy.RoleAdmin)
	if err != nil {
		t.Fatal(err)
	}
	_, ofOwner, err := s.Members.Invite(t.Context(), owner, "b@example.org", tenancy.RoleOwner)
	if err != nil {
		t.Fatal(err)
	}
	accountstest.WantFault(t, s.Members.RevokeInvitation(t.Context(), admin, ofOwner.ID), fault.Forbidden)
	if err := s.Members.ChangeRole(t.Context(), owner, admin.Account, tenancy.RoleMember); err != nil {
		t.Fatal(err)
	}
	_, err = s.Members.OpenInvitation(t.Context(), byAdmin)
	accountstest.WantFault(t, err, fault.NotFound)
	// The role of a moment ago invites nobody.
	accountstest.WantFault(t, third(s.Members.Invite(t.Context(), admin, "c@example.org", tenancy.RoleViewer)), fault.Forbidden)
	accountstest.WantFault(t, s.Members.RevokeInvitation(t.Context(), admin, ofOwner.ID), fault.Forbidden)
	if n := accountstest.Count(t, dbtest.Owner(t, s.DB), "SELECT count(*) FROM event WHERE type = 'invitation.revoked' AND payload->>'email' = 'a@example.org'"); n != 1 {
		t.Errorf("%d events of the link that ended with the role", n)
	}
}

// An owner who steps down takes back only what an admin could not give.
func TestALinkEndsWithTheRoleThatGaveIt(t *testing.T) {
	s := accountstest.StartedWithOwner(t)
	owner := s.Owner(t)
	s.Join(t, "Cem", tenancy.RoleOwner)
	forOwner, forAdmin := invite(t, s, "a@example.org", tenancy.RoleOwner), invite(t, s, "b@example.org", tenancy.RoleAdmin)
	if err := s.Members.ChangeRole(t.Context(), owner, owner.Account, tenancy.RoleAdmin); err != nil {
		t.Fatal(err)
	}
	_, err := s.Members.OpenInvitation(t.Context(), forOwner)
	accountstest.WantFault(t, err, fault.NotFound)
	if _, err := s.Members.OpenInvitation(t.Context(), forAdmin); err != nil {
		t.Errorf("the admin's link: %v", err)
	}
	if err := s.Members.Leave(t.Context(), owner); err != nil {
		t.Fatal(err)
	}
	_, err = s.Members.OpenInvitation(t.Context(), forAdmin)
	accountstest.WantFault(t, err, fault.NotFound)
}

// Somebody who is a member keeps his role, and the link.
func TestAMemberAcceptsAnInvitation(t *testing.T) {
	s := accountstest.StartedWithOwner(t)
	owner := s.Owner(t)
	bob := s.Join(t, "Bob", tenancy.RoleViewer)
	token := invite(t, s, guestEmail, tenancy.RoleAdmin)
	for _, who := range []tenancy.Principal{bob, owner} {
		done, err := s.Members.Accept(t.Context(), token, who.Account)
		if err != nil || !done.Already || done.Role != who.Role {
			t.Errorf("%s: %+v, %v", who.Name, done, err)
		}
	}
	wantRole(t, s, bob, tenancy.RoleViewer)
	if _, err := s.Members.OpenInvitation(t.Context(), token); err != nil {
		t.Errorf("the link was used up: %v", err)
	}
	_, err := s.Members.Accept(t.Context(), token, ids.New())
	accountstest.WantFault(t, err, fault.Unauthenticated)
}

// Two people open one link at the same moment: both have seen it open when the
// first of them joins. The other gets no account either.
func TestALinkWorksOnceAtOneMoment(t *testing.T) {
	s := accountstest.StartedWithOwner(t)
	conn := dbtest.Owner(t, s.DB)
	token := invite(t, s, guestEmail, tenancy.RoleMember)
	holder, err := conn.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := holder.Exec(t.Context(), "SELECT 1 FROM invitation FOR UPDATE"); err != nil {
		t.Fatal(err)
	}
	var both sync.WaitGroup
	results := make([]error, 2)
	for i := range results {
		both.Go(func() {
			results[i] = second(s.Members.JoinAsNew(accountstest.Timeoutless, token, "Somebody", accountstest.Password))
		})
	}
	waiting(t, s, 2)
	if err := holder.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	both.Wait()
	won := 0
	for _, err := range results {
		if err == nil {
			won++
			continue
		}
		accountstest.WantFault(t, err, fault.NotFound)
	}
	if won != 1 {
		t.Errorf("%d joined by one link: %v", won, results)
	}
	if n := accountstest.Count(t, conn, "SELECT count(*) FROM account WHERE email = $1", guestEmail); n != 1 {
		t.Errorf("%d accounts", n)
	}
	if n := accountstest.Count(t, conn, "SELECT count(*) FROM membership"); n != 2 {
		t.Errorf("%d members", n)
	}
}

// An account and its membership are made together or not at all.
func TestNoAccountWithoutItsMembership(t *testing.T) {
	s := accountstest.StartedWithOwner(t)
	conn := dbtest.Owner(t, s.DB)
	token := invite(t, s, guestEmail, tenancy.RoleMember)
	accountstest.Exec(t, conn, "ALTER TABLE event ADD CONSTRAINT broken CHECK (type <> 'member.joined') NOT VALID")
	if err := second(s.Members.JoinAsNew(t.Context(), token, "Bob", accountstest.Password)); err == nil {
		t.Fatal("joined without an event")
	}
	if n := accountstest.Count(t, conn, "SELECT count(*) FROM account WHERE email = $1", guestEmail); n != 0 {
		t.Error("an account was left behind")
	}
	accountstest.Exec(t, conn, "ALTER TABLE event DROP CONSTRAINT broken")
	if err := second(s.Members.JoinAsNew(t.Context(), token, "Bob", accountstest.Password)); err != nil {
		t.Errorf("the link afterwards: %v", err)
	}
}

// The hash of a link shows its own row and no other, and changes nothing.
func TestALinkShowsOnlyItself(t *testing.T) {
	s := accountstest.StartedWithOwner(t)
	conn := dbtest.Owner(t, s.DB)
	foreign := dbfactory.Foreigner(t, conn)
	token := invite(t, s, guestEmail, tenancy.RoleMember)
	invite(t, s, "other@example.org", tenancy.RoleMember)
	theirs, _, err := s.Members.Invite(t.Context(), foreign, guestEmail, tenancy.RoleMember)
	if err != nil {
		t.Fatal(err)
	}
	seen := func(in func(func(db.Tx) error) error, sql string) (n int) {
		t.Helper()
		if err := in(func(tx db.Tx) error { return tx.QueryRow(t.Context(), sql).Scan(&n) }); err != nil {
			t.Fatal(err)
		}
		return n
	}
	scopes := map[string]struct {
		in   func(func(db.Tx) error) error
		want int
	}{
		"by its hash":       {func(fn func(db.Tx) error) error { return s.DB.In(t.Context(), db.Token(secrets.Hash(token)), fn) }, 1},
		"by another hash":   {func(fn func(db.Tx) error) error { return s.DB.In(t.Context(), db.Token(secrets.Hash("x")), fn) }, 0},
		"own workspace":     {func(fn func(db.Tx) error) error { return s.DB.In(t.Context(), db.Workspace(s.First.Workspace), fn) }, 2},
		"another workspace": {func(fn func(db.Tx) error) error { return s.DB.In(t.Context(), db.Workspace(foreign.Workspace), fn) }, 1},
		"no workspace":      {func(fn func(db.Tx) error) error { return s.DB.In(t.Context(), db.None, fn) }, 0},
		"a person":          {func(fn func(db.Tx) error) error { return s.DB.In(t.Context(), db.Account(foreign.Account), fn) }, 0},
	}
	for name, row := range scopes {
		if got := seen(row.in, "SELECT count(*) FROM invitation"); got != row.want {
			t.Errorf("%s: %d rows, want %d", name, got, row.want)
		}
	}
	// By its hash nothing can be written, and nothing else of the workspace read.
	for _, sql := range []string{
		"WITH gone AS (UPDATE invitation SET revoked_at = now() RETURNING 1) SELECT count(*) FROM gone",
		"SELECT count(*) FROM workspace", "SELECT count(*) FROM membership", "SELECT count(*) FROM access_token",
	} {
		if n := seen(scopes["by its hash"].in, sql); n != 0 {
			t.Errorf("%d by the hash: %s", n, sql)
		}
	}
	// A member of one workspace takes no link of another back.
	list, err := s.Members.Invitations(t.Context(), foreign)
	if err != nil || len(list) != 1 || list[0].Hint != secrets.Hint(theirs) {
		t.Fatalf("theirs: %+v, %v", list, err)
	}
	accountstest.WantFault(t, s.Members.RevokeInvitation(t.Context(), s.Owner(t), list[0].ID), fault.NotFound)
	if _, err := s.Members.OpenInvitation(t.Context(), theirs); err != nil {
		t.Errorf("their link: %v", err)
	}
}
