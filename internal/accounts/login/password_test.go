package login_test

import (
	"sync"
	"testing"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/db/dbtest"
	"github.com/fleetboard/fleetboard/internal/accounts/accountstest"
	"github.com/fleetboard/fleetboard/internal/accounts/devices"
	"github.com/fleetboard/fleetboard/internal/accounts/login"
	"github.com/fleetboard/fleetboard/internal/accounts/passwords"
	"github.com/fleetboard/fleetboard/internal/accounts/sessions"
	"github.com/fleetboard/fleetboard/internal/accounts/throttle"
	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

const newPassword = "a kettle in the winter garden"

func TestChangePassword(t *testing.T) {
	s := accountstest.StartedWithOwner(t)
	conn := dbtest.Owner(t, s.DB)
	who := s.Owner(t)
	s.Begun(t, "mine", who.Account, nil)
	s.Begun(t, "phone", who.Account, nil)
	change := func(current, password string) error {
		_, err := s.LogIns.ChangePassword(t.Context(), who, login.PasswordChange{Current: current, New: password, Address: "192.0.2.1", Token: "mine"})
		return err
	}
	for name, in := range map[string]struct{ current, password, field string }{
		"wrong password":  {"not the password", newPassword, "current"},
		"none":            {"", newPassword, "current"},
		"the same":        {accountstest.Password, accountstest.Password, "password"},
		"short":           {accountstest.Password, "elevenchars", "password"},
		"common":          {accountstest.Password, "Password1234", "password"},
		"the own address": {accountstest.Password, "ada@example.org", "password"},
	} {
		f := accountstest.Refusal(t, change(in.current, in.password), fault.Validation)
		if len(f.Fields) != 1 || f.Fields[in.field] == "" {
			t.Errorf("%s: fields %v, want %s", name, f.Fields, in.field)
		}
	}
	if !s.Opens(t, "mine") || !s.Opens(t, "phone") {
		t.Fatal("a refused change ended a session")
	}
	if err := change(accountstest.Password, newPassword); err != nil {
		t.Fatal(err)
	}
	if s.Opens(t, "mine") || s.Opens(t, "phone") {
		t.Error("a session of the old password opens the server")
	}
	if _, err := s.LogIns.LogIn(t.Context(), accountstest.Email, newPassword, devices.Origin{Address: "192.0.2.1"}); err != nil {
		t.Errorf("the new password: %v", err)
	}
	_, err := s.LogIns.LogIn(t.Context(), accountstest.Email, accountstest.Password, devices.Origin{Address: "192.0.2.1"})
	accountstest.WantFault(t, err, fault.Unauthenticated)
	if n := dbfactory.EventsBy(t, conn, who, string(eventlog.PasswordChanged), `{"sessions": 1}`); n != 1 {
		t.Errorf("%d events", n)
	}
	// The browser logged out in the meantime: it must not be logged in again.
	accountstest.WantFault(t, change(newPassword, "another kettle in the garden"), fault.Unauthenticated)
	if _, err := s.LogIns.LogIn(t.Context(), accountstest.Email, newPassword, devices.Origin{Address: "192.0.2.1"}); err != nil {
		t.Errorf("a change that was refused changed the password: %v", err)
	}
}

// vouched returns a person who joined by an identity provider, without a password.
func vouched(t *testing.T) (accountstest.Setting, tenancy.Principal) {
	t.Helper()
	s := accountstest.StartedWithOwner(t)
	token, _, err := s.Members.Invite(t.Context(), s.Owner(t), accountstest.GraceThere.Email, tenancy.RoleMember)
	if err != nil {
		t.Fatal(err)
	}
	in, joined, err := s.Identities.JoinAs(t.Context(), token, accountstest.GraceThere)
	if err != nil {
		t.Fatal(err)
	}
	return s, tenancy.Principal{Kind: tenancy.KindPerson, Workspace: joined.Workspace, Account: in.ID, Name: in.Name, Role: joined.Role}
}

func TestSetPassword(t *testing.T) {
	s, who := vouched(t)
	conn := dbtest.Owner(t, s.DB)
	s.Begun(t, "mine", who.Account, nil)
	s.Begun(t, "phone", who.Account, nil)
	for _, password := range []string{"", "elevenchars", "Password1234", accountstest.GraceThere.Email} {
		_, err := s.LogIns.SetPassword(t.Context(), who, password, "mine")
		if f := accountstest.Refusal(t, err, fault.Validation); len(f.Fields) != 1 || f.Fields["password"] == "" {
			t.Errorf("%q: fields %v", password, f.Fields)
		}
	}
	// The browser was logged out meanwhile: nothing is set for it.
	_, err := s.LogIns.SetPassword(t.Context(), who, newPassword, "another")
	accountstest.WantFault(t, err, fault.Unauthenticated)
	_, err = s.LogIns.LogIn(t.Context(), accountstest.GraceThere.Email, newPassword, accountstest.From(accountstest.Address))
	accountstest.WantFault(t, err, fault.Unauthenticated)
	if !s.Opens(t, "mine") || !s.Opens(t, "phone") {
		t.Fatal("what was refused ended a session")
	}
	epoch, err := s.LogIns.SetPassword(t.Context(), who, newPassword, "mine")
	if err != nil || epoch != 1 {
		t.Fatalf("epoch %d, %v", epoch, err)
	}
	if s.Opens(t, "mine") || s.Opens(t, "phone") {
		t.Error("a session of before opens the server")
	}
	if in, err := s.LogIns.LogIn(t.Context(), accountstest.GraceThere.Email, newPassword, accountstest.From(accountstest.Address)); err != nil || in.ID != who.Account {
		t.Errorf("with the password: %+v, %v", in, err)
	}
	if n := dbfactory.EventsBy(t, conn, who, string(eventlog.PasswordChanged), `{"sessions": 1, "first": true}`); n != 1 {
		t.Errorf("%d events", n)
	}
	if n := accountstest.Count(t, conn, "SELECT count(*) FROM session WHERE account_id = $1 AND ended_at IS NULL", who.Account); n != 0 {
		t.Errorf("%d sessions have no tombstone", n)
	}
	// Now the identity is not the only way in any more.
	if err := s.Identities.Unlink(t.Context(), who, accountstest.GraceThere.Issuer); err != nil {
		t.Errorf("unlink: %v", err)
	}
}

// Whoever sits at an open browser sets no password in the place of another, not
// even of one that is being set at this moment.
func TestSetPasswordReplacesNone(t *testing.T) {
	s, who := vouched(t)
	for _, token := range []string{"a", "b", "c", "d"} {
		s.Begun(t, token, who.Account, nil)
	}
	var wg sync.WaitGroup
	results := make([]error, 4)
	candidates := []string{newPassword, newPassword + " a", newPassword + " b", newPassword + " c"}
	for i, password := range candidates {
		wg.Go(func() { _, results[i] = s.LogIns.ReplacePassword(t.Context(), who, "", password, string(rune('a'+i))) })
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
	if _, err := s.LogIns.LogIn(t.Context(), accountstest.GraceThere.Email, candidates[set], accountstest.From(accountstest.Address)); err != nil {
		t.Errorf("the password that was set: %v", err)
	}
	s.Begun(t, "later", who.Account, map[string]any{sessions.Epoch: "1"})
	*s.Hashes = *passwords.New(passwords.Cost{}) // a hash would panic: it is refused before it costs one
	_, err := s.LogIns.SetPassword(t.Context(), who, "a stranger's own sentence", "later")
	accountstest.WantFault(t, err, fault.InvalidTransition)
	if !s.Opens(t, "later") {
		t.Error("what was refused ended the session")
	}
}

// Who took over a browser must not guess the password through the settings.
func TestConfirmingAPasswordIsThrottled(t *testing.T) {
	s := accountstest.StartedWithOwner(t)
	who := s.Owner(t)
	for range throttle.PerNeighbour.Free {
		accountstest.WantFault(t, s.SecondFactors.Drop(t.Context(), who, "not the password", "192.0.2.1"), fault.Validation)
	}
	// The last hash may have outlasted the first wait.
	accountstest.Exec(t, dbtest.Owner(t, s.DB), "UPDATE login_throttle SET last_failed_at = now()")
	f := accountstest.Refusal(t, s.SecondFactors.Drop(t.Context(), who, accountstest.Password, "192.0.2.1"), fault.TooMany)
	if f.Details["retry_after"] != 1 {
		t.Errorf("details %v", f.Details)
	}
	// The log in has a count of its own.
	if _, err := s.LogIns.LogIn(t.Context(), accountstest.Email, accountstest.Password, devices.Origin{Address: "192.0.2.1"}); err != nil {
		t.Errorf("log in: %v", err)
	}
}
