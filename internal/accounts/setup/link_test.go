package setup_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/db/dbtest"
	"github.com/fleetboard/fleetboard/internal/accounts/accountstest"
	"github.com/fleetboard/fleetboard/internal/accounts/devices"
	"github.com/fleetboard/fleetboard/internal/accounts/secrets"
	"github.com/fleetboard/fleetboard/internal/accounts/sessions"
	"github.com/fleetboard/fleetboard/internal/accounts/setup"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
)

func TestSetUpOnce(t *testing.T) {
	s := accountstest.Started(t)
	token := s.First.SetupToken
	if ok, err := s.Setup.SetUpAccount(t.Context(), token); !ok || err != nil {
		t.Fatalf("a fresh link: %v, %v", ok, err)
	}
	account, err := s.Setup.SetUp(t.Context(), token, setup.Owner{Name: " Ada Lovelace ", Email: "Ada@Example.org", Password: accountstest.Password})
	if err != nil {
		t.Fatal(err)
	}
	if account.Name != "Ada Lovelace" || account.Email != accountstest.Email {
		t.Errorf("account = %+v", account)
	}
	if _, err := s.LogIns.LogIn(t.Context(), accountstest.Email, accountstest.Password, devices.Origin{Address: "192.0.2.1"}); err != nil {
		t.Errorf("log in after set-up: %v", err)
	}
	who, err := s.Workspaces.Person(t.Context(), account.ID, ids.Nil)
	if err != nil || who.Workspace != s.First.Workspace || who.Role != "owner" || who.Name != "Ada Lovelace" {
		t.Errorf("person = %+v, %v", who, err)
	}

	_, err = s.Setup.SetUp(t.Context(), token, setup.Owner{Name: "Eve", Email: "eve@example.org", Password: accountstest.Password})
	accountstest.WantFault(t, err, fault.NotFound)
	if ok, err := s.Setup.SetUpAccount(t.Context(), token); ok || err != nil {
		t.Errorf("a used link: %v, %v", ok, err)
	}
}

// The owner names the first workspace; a name that cannot be leaves the link as it is.
func TestSetUpNamesTheWorkspace(t *testing.T) {
	s := accountstest.Started(t)
	owner := setup.Owner{Name: "Ada", Email: accountstest.Email, Password: accountstest.Password, Workspace: strings.Repeat("x", 101)}
	_, err := s.Setup.SetUp(t.Context(), s.First.SetupToken, owner)
	if f := accountstest.Refusal(t, err, fault.Validation); f.Fields["workspace"] == "" {
		t.Errorf("fields = %v, want workspace", f.Fields)
	}
	owner.Workspace = " Kestrel Labs "
	account, err := s.Setup.SetUp(t.Context(), s.First.SetupToken, owner)
	if err != nil {
		t.Fatal(err)
	}
	list, err := s.Workspaces.Of(t.Context(), account.ID)
	if err != nil || len(list) != 1 || list[0].Name != "Kestrel Labs" {
		t.Errorf("workspaces = %+v, %v", list, err)
	}
}

func TestSetUpOnceAtOneMoment(t *testing.T) {
	s := accountstest.Started(t)
	ctx := accountstest.Timeout(t)
	var wg sync.WaitGroup
	results := make(chan error, 4)
	for _, email := range []string{"a@example.org", "b@example.org", "c@example.org", "d@example.org"} {
		wg.Go(func() {
			_, err := s.Setup.SetUp(ctx, s.First.SetupToken, setup.Owner{Name: "Somebody", Email: email, Password: accountstest.Password})
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
	s := accountstest.Started(t)
	conn := dbtest.Owner(t, s.DB)
	if n := accountstest.Count(t, conn, "SELECT count(*) FROM setup_link WHERE expires_at BETWEEN now() + interval '167 hours' AND now() + interval '168 hours'"); n != 1 {
		t.Error("the link is not valid for seven days")
	}
	accountstest.Exec(t, conn, "UPDATE setup_link SET expires_at = now() - interval '1 second'")
	_, err := s.Setup.SetUp(t.Context(), s.First.SetupToken, setup.Owner{Name: "Ada", Email: accountstest.Email, Password: accountstest.Password})
	accountstest.WantFault(t, err, fault.NotFound)
}

func TestSetUpRefusals(t *testing.T) {
	s := accountstest.Started(t)
	cases := map[string]struct {
		name, email, password string
		field                 string
	}{
		"no name":          {"  ", accountstest.Email, accountstest.Password, "name"},
		"long name":        {strings.Repeat("x", 101), accountstest.Email, accountstest.Password, "name"},
		"NUL in name":      {"A\x00da", accountstest.Email, accountstest.Password, "name"},
		"no e-mail":        {"Ada", "", accountstest.Password, "email"},
		"e-mail with name": {"Ada", "Ada <ada@example.org>", accountstest.Password, "email"},
		"two e-mails":      {"Ada", "ada@example.org, eve@example.org", accountstest.Password, "email"},
		"short password":   {"Ada", accountstest.Email, "elevenchars", "password"},
		"common password":  {"Ada", accountstest.Email, "Password1234", "password"},
		"own name":         {"Ada", "ada.lovelace@example.org", "ada.lovelace", "password"},
		"long password":    {"Ada", accountstest.Email, strings.Repeat("é", 129), "password"},
	}
	for name, in := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := s.Setup.SetUp(t.Context(), s.First.SetupToken, setup.Owner{Name: in.name, Email: in.email, Password: in.password})
			f := accountstest.Refusal(t, err, fault.Validation)
			if len(f.Fields) != 1 || f.Fields[in.field] == "" {
				t.Errorf("fields = %v, want only %s", f.Fields, in.field)
			}
		})
	}
	if _, err := s.Setup.SetUp(t.Context(), s.First.SetupToken, setup.Owner{Name: "Ada", Email: accountstest.Email, Password: strings.Repeat("zaunkö", 21) + "ig"}); err != nil {
		t.Errorf("the link is used up by refusals, or 128 characters are too many: %v", err)
	}
}

func TestSetUpEmailTaken(t *testing.T) {
	s := accountstest.Started(t)
	dbfactory.Foreigner(t, dbtest.Owner(t, s.DB))
	_, err := s.Setup.SetUp(t.Context(), s.First.SetupToken, setup.Owner{Name: "Ada", Email: "eve@example.org", Password: accountstest.Password})
	if f := accountstest.Refusal(t, err, fault.Validation); f.Fields["email"] == "" {
		t.Errorf("fields = %v", f.Fields)
	}
	if ok, _ := s.Setup.SetUpAccount(t.Context(), s.First.SetupToken); !ok {
		t.Error("the refused set-up used the link up")
	}
}

func TestSetUpEndsSessions(t *testing.T) {
	s := accountstest.Started(t)
	conn := dbtest.Owner(t, s.DB)
	store, token := sessions.NewStore(s.DB), "a browser's token"
	who := s.Owner(t)
	data := accountstest.SessionData(t, map[string]any{sessions.Account: who.Account.String()})
	if err := store.CommitCtx(t.Context(), token, data, time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Setup.SetUp(t.Context(), s.First.SetupToken, setup.Owner{Name: "Ada", Email: accountstest.Email, Password: accountstest.Password}); err != nil {
		t.Fatal(err)
	}
	if _, found, err := store.FindCtx(t.Context(), token); found || err != nil {
		t.Errorf("a session from before the set-up: %v, %v", found, err)
	}
	if n := accountstest.Count(t, conn, "SELECT count(*) FROM session WHERE ended_at IS NOT NULL"); n != 1 {
		t.Errorf("%d tombstones", n)
	}
}

func TestSetUpTokenOfAnotherKind(t *testing.T) {
	s := accountstest.Started(t)
	for _, token := range []string{"", "x", s.File(t, setup.OwnerTokenFile), secrets.New(secrets.Setup)} {
		if ok, err := s.Setup.SetUpAccount(t.Context(), token); ok || err != nil {
			t.Errorf("SetUpAccount(%q) = %v, %v", token, ok, err)
		}
	}
}
