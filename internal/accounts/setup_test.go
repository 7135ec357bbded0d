package accounts

import (
	"strings"
	"sync"
	"testing"
	"time"

	"fleetboard/db/dbtest"
	"fleetboard/internal/fault"
	"fleetboard/internal/ids"
)

func TestSetUpOnce(t *testing.T) {
	s := started(t)
	token := s.first.SetupToken
	if ok, err := s.SetUpAccount(t.Context(), token); !ok || err != nil {
		t.Fatalf("a fresh link: %v, %v", ok, err)
	}
	account, err := s.SetUp(t.Context(), token, " Ada Lovelace ", "Ada@Example.org", testPassword)
	if err != nil {
		t.Fatal(err)
	}
	if account.Name != "Ada Lovelace" || account.Email != testEmail {
		t.Errorf("account = %+v", account)
	}
	if _, err := s.LogIn(t.Context(), testEmail, testPassword, Origin{Address: "192.0.2.1"}); err != nil {
		t.Errorf("log in after set-up: %v", err)
	}
	who, err := s.Person(t.Context(), account.ID, ids.Nil)
	if err != nil || who.Workspace != s.first.Workspace || who.Role != "owner" || who.Name != "Ada Lovelace" {
		t.Errorf("person = %+v, %v", who, err)
	}

	_, err = s.SetUp(t.Context(), token, "Eve", "eve@example.org", testPassword)
	wantFault(t, err, fault.NotFound)
	if ok, err := s.SetUpAccount(t.Context(), token); ok || err != nil {
		t.Errorf("a used link: %v, %v", ok, err)
	}
}

func TestSetUpOnceAtOneMoment(t *testing.T) {
	s := started(t)
	ctx := timeout(t)
	var wg sync.WaitGroup
	results := make(chan error, 4)
	for _, email := range []string{"a@example.org", "b@example.org", "c@example.org", "d@example.org"} {
		wg.Go(func() {
			_, err := s.SetUp(ctx, s.first.SetupToken, "Somebody", email, testPassword)
			results <- err
		})
	}
	wg.Wait()
	close(results)
	done := 0
	for err := range results {
		if err == nil {
			done++
			continue
		}
		if !fault.Is(err, fault.NotFound) {
			t.Errorf("unexpected: %v", err)
		}
	}
	if done != 1 {
		t.Errorf("%d set-ups with one link", done)
	}
}

func TestSetUpLinkExpired(t *testing.T) {
	s := started(t)
	conn := dbtest.Owner(t, s.db)
	if n := count(t, conn, "SELECT count(*) FROM setup_link WHERE expires_at BETWEEN now() + interval '167 hours' AND now() + interval '168 hours'"); n != 1 {
		t.Error("the link is not valid for seven days")
	}
	exec(t, conn, "UPDATE setup_link SET expires_at = now() - interval '1 second'")
	_, err := s.SetUp(t.Context(), s.first.SetupToken, "Ada", testEmail, testPassword)
	wantFault(t, err, fault.NotFound)
}

func TestSetUpRefusals(t *testing.T) {
	s := started(t)
	cases := map[string]struct {
		name, email, password string
		field                 string
	}{
		"no name":          {"  ", testEmail, testPassword, "name"},
		"long name":        {strings.Repeat("x", 101), testEmail, testPassword, "name"},
		"NUL in name":      {"A\x00da", testEmail, testPassword, "name"},
		"no e-mail":        {"Ada", "", testPassword, "email"},
		"e-mail with name": {"Ada", "Ada <ada@example.org>", testPassword, "email"},
		"two e-mails":      {"Ada", "ada@example.org, eve@example.org", testPassword, "email"},
		"short password":   {"Ada", testEmail, "elevenchars", "password"},
		"common password":  {"Ada", testEmail, "Password1234", "password"},
		"own name":         {"Ada", "ada.lovelace@example.org", "ada.lovelace", "password"},
		"long password":    {"Ada", testEmail, strings.Repeat("é", 129), "password"},
	}
	for name, in := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := s.SetUp(t.Context(), s.first.SetupToken, in.name, in.email, in.password)
			f := refusal(t, err, fault.Validation)
			if len(f.Fields) != 1 || f.Fields[in.field] == "" {
				t.Errorf("fields = %v, want only %s", f.Fields, in.field)
			}
		})
	}
	if _, err := s.SetUp(t.Context(), s.first.SetupToken, "Ada", testEmail, strings.Repeat("zaunkö", 21)+"ig"); err != nil {
		t.Errorf("the link is used up by refusals, or 128 characters are too many: %v", err)
	}
}

func TestSetUpEmailTaken(t *testing.T) {
	s := started(t)
	another(t, dbtest.Owner(t, s.db))
	_, err := s.SetUp(t.Context(), s.first.SetupToken, "Ada", "eve@example.org", testPassword)
	if f := refusal(t, err, fault.Validation); f.Fields["email"] == "" {
		t.Errorf("fields = %v", f.Fields)
	}
	if ok, _ := s.SetUpAccount(t.Context(), s.first.SetupToken); !ok {
		t.Error("the refused set-up used the link up")
	}
}

func TestSetUpEndsSessions(t *testing.T) {
	s := started(t)
	conn := dbtest.Owner(t, s.db)
	store, token := NewSessionStore(s.db), "a browser's token"
	who := s.owner(t)
	data := sessionData(t, map[string]any{SessionAccount: who.Account.String()})
	if err := store.CommitCtx(t.Context(), token, data, time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if _, err := s.SetUp(t.Context(), s.first.SetupToken, "Ada", testEmail, testPassword); err != nil {
		t.Fatal(err)
	}
	if _, found, err := store.FindCtx(t.Context(), token); found || err != nil {
		t.Errorf("a session from before the set-up: %v, %v", found, err)
	}
	if n := count(t, conn, "SELECT count(*) FROM session WHERE ended_at IS NOT NULL"); n != 1 {
		t.Errorf("%d tombstones", n)
	}
}

func TestSetUpTokenOfAnotherKind(t *testing.T) {
	s := started(t)
	for _, token := range []string{"", "x", s.file(t, ownerTokenFile), newSecret(secretSetup)} {
		if ok, err := s.SetUpAccount(t.Context(), token); ok || err != nil {
			t.Errorf("SetUpAccount(%q) = %v, %v", token, ok, err)
		}
	}
}
