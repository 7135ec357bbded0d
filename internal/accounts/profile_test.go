package accounts

import (
	"strings"
	"sync"
	"testing"

	"fleetboard/db/dbtest"
	"fleetboard/internal/eventlog"
	"fleetboard/internal/fault"
	"fleetboard/internal/tenancy"
)

const newPassword = "a kettle in the winter garden"

func TestRename(t *testing.T) {
	s := startedWithOwner(t)
	conn := dbtest.Owner(t, s.db)
	who := s.owner(t)
	for _, name := range []string{"", "  ", strings.Repeat("x", 101), "A\x00da"} {
		f := refusal(t, s.Rename(t.Context(), who, name), fault.Validation)
		if f.Fields["name"] == "" {
			t.Errorf("%q: fields %v", name, f.Fields)
		}
	}
	for range 2 {
		if err := s.Rename(t.Context(), who, " Ada Lovelace "); err != nil {
			t.Fatal(err)
		}
	}
	p, err := s.Profile(t.Context(), who)
	if err != nil || p.Name != "Ada Lovelace" || p.Email != testEmail || !p.HasPassword || p.SecondFactorSince != nil {
		t.Errorf("profile %+v, %v", p, err)
	}
	if n := count(t, conn, `SELECT count(*) FROM event WHERE type = 'account.renamed' AND workspace_id = $1
		AND changes @> '[{"field": "name", "new": "Ada Lovelace"}]'`, who.Workspace); n != 1 {
		t.Errorf("%d events for one change", n)
	}
}

func TestChangePassword(t *testing.T) {
	s := startedWithOwner(t)
	conn := dbtest.Owner(t, s.db)
	who := s.owner(t)
	s.begun(t, "mine", who.Account, nil)
	s.begun(t, "phone", who.Account, nil)
	change := func(current, password string) error {
		_, err := s.ChangePassword(t.Context(), who, PasswordChange{Current: current, New: password, Address: "192.0.2.1", Token: "mine"})
		return err
	}
	for name, in := range map[string]struct{ current, password, field string }{
		"wrong password":  {"not the password", newPassword, "current"},
		"none":            {"", newPassword, "current"},
		"the same":        {testPassword, testPassword, "password"},
		"short":           {testPassword, "elevenchars", "password"},
		"common":          {testPassword, "Password1234", "password"},
		"the own address": {testPassword, "ada@example.org", "password"},
	} {
		f := refusal(t, change(in.current, in.password), fault.Validation)
		if len(f.Fields) != 1 || f.Fields[in.field] == "" {
			t.Errorf("%s: fields %v, want %s", name, f.Fields, in.field)
		}
	}
	if !s.opens(t, "mine") || !s.opens(t, "phone") {
		t.Fatal("a refused change ended a session")
	}
	if err := change(testPassword, newPassword); err != nil {
		t.Fatal(err)
	}
	if s.opens(t, "mine") || s.opens(t, "phone") {
		t.Error("a session of the old password opens the server")
	}
	if _, err := s.LogIn(t.Context(), testEmail, newPassword, Origin{Address: "192.0.2.1"}); err != nil {
		t.Errorf("the new password: %v", err)
	}
	_, err := s.LogIn(t.Context(), testEmail, testPassword, Origin{Address: "192.0.2.1"})
	wantFault(t, err, fault.Unauthenticated)
	if n := events(t, conn, who, eventlog.PasswordChanged, `{"sessions": 1}`); n != 1 {
		t.Errorf("%d events", n)
	}
	// The browser logged out in the meantime: it must not be logged in again.
	wantFault(t, change(newPassword, "another kettle in the garden"), fault.Unauthenticated)
	if _, err := s.LogIn(t.Context(), testEmail, newPassword, Origin{Address: "192.0.2.1"}); err != nil {
		t.Errorf("a change that was refused changed the password: %v", err)
	}
}

// vouched is a person who joined by an identity provider, without a password.
func vouched(t *testing.T) (setting, tenancy.Principal) {
	t.Helper()
	s := startedWithOwner(t)
	token, _, err := s.Invite(t.Context(), s.owner(t), graceThere.Email, tenancy.RoleMember)
	if err != nil {
		t.Fatal(err)
	}
	in, joined, err := s.JoinAs(t.Context(), token, graceThere)
	if err != nil {
		t.Fatal(err)
	}
	return s, tenancy.Principal{Kind: tenancy.KindPerson, Workspace: joined.Workspace, Account: in.ID, Name: in.Name, Role: joined.Role}
}

func TestSetPassword(t *testing.T) {
	s, who := vouched(t)
	conn := dbtest.Owner(t, s.db)
	s.begun(t, "mine", who.Account, nil)
	s.begun(t, "phone", who.Account, nil)
	for _, password := range []string{"", "elevenchars", "Password1234", graceThere.Email} {
		_, err := s.SetPassword(t.Context(), who, password, "mine")
		if f := refusal(t, err, fault.Validation); len(f.Fields) != 1 || f.Fields["password"] == "" {
			t.Errorf("%q: fields %v", password, f.Fields)
		}
	}
	// The browser was logged out meanwhile: nothing is set for it.
	_, err := s.SetPassword(t.Context(), who, newPassword, "another")
	wantFault(t, err, fault.Unauthenticated)
	_, err = s.LogIn(t.Context(), graceThere.Email, newPassword, at(testAddress))
	wantFault(t, err, fault.Unauthenticated)
	if !s.opens(t, "mine") || !s.opens(t, "phone") {
		t.Fatal("what was refused ended a session")
	}
	epoch, err := s.SetPassword(t.Context(), who, newPassword, "mine")
	if err != nil || epoch != 1 {
		t.Fatalf("epoch %d, %v", epoch, err)
	}
	if s.opens(t, "mine") || s.opens(t, "phone") {
		t.Error("a session of before opens the server")
	}
	if in, err := s.LogIn(t.Context(), graceThere.Email, newPassword, at(testAddress)); err != nil || in.ID != who.Account {
		t.Errorf("with the password: %+v, %v", in, err)
	}
	if n := events(t, conn, who, eventlog.PasswordChanged, `{"sessions": 1, "first": true}`); n != 1 {
		t.Errorf("%d events", n)
	}
	if n := count(t, conn, "SELECT count(*) FROM session WHERE account_id = $1 AND ended_at IS NULL", who.Account); n != 0 {
		t.Errorf("%d sessions have no tombstone", n)
	}
	// Now the identity is not the only way in any more.
	if err := s.UnlinkIdentity(t.Context(), who, graceThere.Issuer); err != nil {
		t.Errorf("unlink: %v", err)
	}
}

// Whoever sits at an open browser sets no password in the place of another, not
// even of one that is being set at this moment.
func TestSetPasswordReplacesNone(t *testing.T) {
	s, who := vouched(t)
	for _, token := range []string{"a", "b", "c", "d"} {
		s.begun(t, token, who.Account, nil)
	}
	var wg sync.WaitGroup
	results := make([]error, 4)
	passwords := []string{newPassword, newPassword + " a", newPassword + " b", newPassword + " c"}
	for i, password := range passwords {
		wg.Go(func() { _, results[i] = s.replacePassword(t.Context(), who, "", password, string(rune('a'+i))) })
	}
	wg.Wait()
	set := -1
	for i, err := range results {
		switch {
		case err == nil && set < 0:
			set = i
		case err == nil:
			t.Error("two passwords were set")
		case !fault.Is(err, fault.InvalidTransition):
			t.Errorf("refused with %v", err)
		}
	}
	if set < 0 {
		t.Fatal("none was set")
	}
	if _, err := s.LogIn(t.Context(), graceThere.Email, passwords[set], at(testAddress)); err != nil {
		t.Errorf("the password that was set: %v", err)
	}
	s.begun(t, "later", who.Account, map[string]any{SessionEpoch: "1"})
	s.loginService.passwords.fill() // it is refused before it costs a hash
	_, err := s.SetPassword(t.Context(), who, "a stranger's own sentence", "later")
	wantFault(t, err, fault.InvalidTransition)
	if !s.opens(t, "later") {
		t.Error("what was refused ended the session")
	}
}

// Who took over a browser must not guess the password through the settings.
func TestConfirmingAPasswordIsThrottled(t *testing.T) {
	s := startedWithOwner(t)
	who := s.owner(t)
	for range int(perNeighbour.free) {
		wantFault(t, s.DropSecondFactor(t.Context(), who, "not the password", "192.0.2.1"), fault.Validation)
	}
	// The last hash may have outlasted the first wait.
	exec(t, dbtest.Owner(t, s.db), "UPDATE login_throttle SET last_failed_at = now()")
	f := refusal(t, s.DropSecondFactor(t.Context(), who, testPassword, "192.0.2.1"), fault.TooMany)
	if f.Details["retry_after"] != 1 {
		t.Errorf("details %v", f.Details)
	}
	// The log in has a count of its own.
	if _, err := s.LogIn(t.Context(), testEmail, testPassword, Origin{Address: "192.0.2.1"}); err != nil {
		t.Errorf("log in: %v", err)
	}
}
