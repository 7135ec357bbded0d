package accounts

import (
	"strings"
	"testing"

	"fleetboard/db/dbtest"
	"fleetboard/internal/eventlog"
	"fleetboard/internal/fault"
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
	if _, err := s.LogIn(t.Context(), testEmail, newPassword, "192.0.2.1"); err != nil {
		t.Errorf("the new password: %v", err)
	}
	_, err := s.LogIn(t.Context(), testEmail, testPassword, "192.0.2.1")
	wantFault(t, err, fault.Unauthenticated)
	if n := events(t, conn, who, eventlog.PasswordChanged, `{"sessions": 1}`); n != 1 {
		t.Errorf("%d events", n)
	}
	// The browser logged out in the meantime: it must not be logged in again.
	wantFault(t, change(newPassword, "another kettle in the garden"), fault.Unauthenticated)
	if _, err := s.LogIn(t.Context(), testEmail, newPassword, "192.0.2.1"); err != nil {
		t.Errorf("a change that was refused changed the password: %v", err)
	}
}

// Who took over a browser must not guess the password through the settings.
func TestConfirmingAPasswordIsThrottled(t *testing.T) {
	s := startedWithOwner(t)
	who := s.owner(t)
	for range freePerAccount {
		wantFault(t, s.DropSecondFactor(t.Context(), who, "not the password", "192.0.2.1"), fault.Validation)
	}
	// The last hash may have outlasted the first wait.
	exec(t, dbtest.Owner(t, s.db), "UPDATE login_throttle SET last_failed_at = now()")
	f := refusal(t, s.DropSecondFactor(t.Context(), who, testPassword, "192.0.2.1"), fault.TooMany)
	if f.Details["retry_after"] != 1 {
		t.Errorf("details %v", f.Details)
	}
	// The log in has a count of its own.
	if _, err := s.LogIn(t.Context(), testEmail, testPassword, "192.0.2.1"); err != nil {
		t.Errorf("log in: %v", err)
	}
}
