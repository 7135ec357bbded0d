package tokens_test

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/db/dbtest"
	"github.com/fleetboard/fleetboard/internal/accounts/accountstest"
	"github.com/fleetboard/fleetboard/internal/accounts/secrets"
	"github.com/fleetboard/fleetboard/internal/accounts/setup"
	"github.com/fleetboard/fleetboard/internal/accounts/tokens"
	"github.com/fleetboard/fleetboard/internal/accounts/workspaces"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

func TestSecretForm(t *testing.T) {
	form := regexp.MustCompile(`^fb_enrolment_[0-9A-Za-z]{33}_[0-9A-Za-z]{6}$`)
	seen := map[string]bool{}
	for range 1000 {
		secret := secrets.New(secrets.Enrolment)
		if !form.MatchString(secret) || seen[secret] {
			t.Fatalf("secret %q is malformed or not new", secret)
		}
		seen[secret] = true
		if kind, ok := secrets.Kind(secret); !ok || kind != secrets.Enrolment {
			t.Fatalf("secretKind(%q) = %q, %v", secret, kind, ok)
		}
	}
}

// Without a database: a token that was typed or copied wrongly never gets there.
func TestBearerRefusesTyposWithoutSQL(t *testing.T) {
	s := accountstest.NewService(nil)
	good := secrets.New(secrets.Person)
	wrong := []string{
		"fb_", "fb_person", "fb_person__", good[:len(good)-1], good + "x", " " + good, good + "\n",
		strings.ToUpper(good), strings.Replace(good, "person", "enrolment", 1), secrets.New(secrets.Setup),
		secrets.New("admin"), "fb_person_" + strings.Repeat("é", 33) + "_000000", strings.Repeat("a", tokens.MaxBearer+1),
	}
	for i := range good {
		c := byte('a')
		if good[i] == c {
			c = 'b'
		}
		wrong = append(wrong, good[:i]+string(c)+good[i+1:])
	}
	for _, token := range wrong {
		_, err := s.Tokens.Bearer(t.Context(), token)
		if !fault.Is(err, fault.TokenInvalid) {
			t.Errorf("Bearer(%q) = %v", token, err)
		}
	}
	_, err := s.Tokens.Bearer(t.Context(), "")
	accountstest.WantFault(t, err, fault.Unauthenticated)
}

func TestBearerPerson(t *testing.T) {
	s := accountstest.StartedWithOwner(t)
	conn := dbtest.Owner(t, s.DB)
	plain := s.Issue(t, tokens.NewToken{Kind: tenancy.KindPerson, Name: "laptop"})
	who, err := s.Tokens.Bearer(t.Context(), plain)
	if err != nil {
		t.Fatal(err)
	}
	if who.Kind != tenancy.KindPerson || who.Workspace != s.First.Workspace || who.Role != tenancy.RoleOwner ||
		who.Name != setup.OwnerName || who.Account == ids.Nil || who.Token == ids.Nil || !who.Can(tenancy.RunFleet) {
		t.Errorf("principal = %+v", who)
	}
	if n := accountstest.Count(t, conn, "SELECT count(*) FROM access_token WHERE token_hash = $1 AND $2 LIKE replace(hint, '…', '%')", secrets.Hash(plain), plain); n != 1 {
		t.Error("the token is not kept as its hash with a hint")
	}

	// The role of today counts, not the one of the day the token was made.
	accountstest.Exec(t, conn, "UPDATE membership SET role = 'viewer'")
	if who, err = s.Tokens.Bearer(t.Context(), plain); err != nil || who.Role != tenancy.RoleViewer {
		t.Errorf("after the role changed: %+v, %v", who, err)
	}
	accountstest.Exec(t, conn, "DELETE FROM membership")
	_, err = s.Tokens.Bearer(t.Context(), plain)
	accountstest.WantFault(t, err, fault.TokenRevoked)
}

func TestBearerEnrolment(t *testing.T) {
	s := accountstest.StartedWithOwner(t)
	plain := s.Issue(t, tokens.NewToken{
		Kind: tenancy.KindEnrolment, Name: "mac", Products: []string{workspaces.FirstProduct}, Capabilities: []string{"os:mac"}, Factory: "mac-1",
	})
	who, err := s.Tokens.Bearer(t.Context(), plain)
	if err != nil {
		t.Fatal(err)
	}
	if who.Kind != tenancy.KindEnrolment || who.Account != ids.Nil || who.Name != "mac" || who.Scope.Factory != "mac-1" ||
		len(who.Scope.Products) != 1 || len(who.Scope.Capabilities) != 1 {
		t.Errorf("principal = %+v", who)
	}
	if !who.Can(tenancy.Enrol) || who.Can(tenancy.ReadBoard) || who.Can(tenancy.SignedIn) {
		t.Error("an enrolment token may enrol and nothing else")
	}
}

func TestBearerEnds(t *testing.T) {
	s := accountstest.StartedWithOwner(t)
	conn := dbtest.Owner(t, s.DB)
	plain := s.Issue(t, tokens.NewToken{Kind: tenancy.KindEnrolment, Name: "short"})
	accountstest.Exec(t, conn, "UPDATE access_token SET expires_at = now() - interval '1 second' WHERE name = 'short'")
	_, err := s.Tokens.Bearer(t.Context(), plain)
	accountstest.WantFault(t, err, fault.TokenExpired)

	accountstest.Exec(t, conn, "UPDATE access_token SET revoked_at = now() WHERE name = 'short'")
	_, err = s.Tokens.Bearer(t.Context(), plain)
	accountstest.WantFault(t, err, fault.TokenRevoked)

	_, err = s.Tokens.Bearer(t.Context(), secrets.New(secrets.Person))
	accountstest.WantFault(t, err, fault.TokenInvalid)
}

func TestBearerLastUsedIsThrottled(t *testing.T) {
	s := accountstest.StartedWithOwner(t)
	conn := dbtest.Owner(t, s.DB)
	plain := s.Issue(t, tokens.NewToken{Kind: tenancy.KindEnrolment, Name: "used"})
	used := func() time.Time {
		t.Helper()
		if _, err := s.Tokens.Bearer(t.Context(), plain); err != nil {
			t.Fatal(err)
		}
		var at time.Time
		if err := conn.QueryRow(t.Context(), "SELECT last_used_at FROM access_token WHERE name = 'used'").Scan(&at); err != nil {
			t.Fatal(err)
		}
		return at
	}
	first := used()
	if second := used(); !second.Equal(first) {
		t.Error("the second use in a minute was written")
	}
	accountstest.Exec(t, conn, "UPDATE access_token SET last_used_at = now() - interval '61 seconds' WHERE name = 'used'")
	if later := used(); later.Before(first) {
		t.Error("a use after a minute was not written")
	}
}

func TestIssueTokenRefusals(t *testing.T) {
	s := accountstest.StartedWithOwner(t)
	owner := s.Owner(t)
	member := owner
	member.Role = tenancy.RoleMember
	past := time.Now().Add(-time.Second)
	cases := map[string]struct {
		who  tenancy.Principal
		in   tokens.NewToken
		code fault.Code
	}{
		"member, enrolment":  {member, tokens.NewToken{Kind: tenancy.KindEnrolment, Name: "x"}, fault.Forbidden},
		"system, person":     {tenancy.System(owner.Workspace, "loop"), tokens.NewToken{Kind: tenancy.KindPerson, Name: "x"}, fault.Forbidden},
		"nobody":             {tenancy.Principal{}, tokens.NewToken{Kind: tenancy.KindPerson, Name: "x"}, fault.Forbidden},
		"agent kind":         {owner, tokens.NewToken{Kind: tenancy.KindAgent, Name: "x"}, fault.Validation},
		"no name":            {owner, tokens.NewToken{Kind: tenancy.KindPerson, Name: " "}, fault.Validation},
		"long name":          {owner, tokens.NewToken{Kind: tenancy.KindPerson, Name: strings.Repeat("x", 101)}, fault.Validation},
		"ends in the past":   {owner, tokens.NewToken{Kind: tenancy.KindPerson, Name: "x", ExpiresAt: &past}, fault.Validation},
		"person with limits": {owner, tokens.NewToken{Kind: tenancy.KindPerson, Name: "x", Factory: "mac-1"}, fault.Validation},
	}
	for name, in := range cases {
		t.Run(name, func(t *testing.T) {
			plain, err := s.Tokens.Issue(t.Context(), in.who, in.in)
			accountstest.WantFault(t, err, in.code)
			if plain != "" {
				t.Error("a refused token was given out")
			}
		})
	}
}

func TestRevokeToken(t *testing.T) {
	s := accountstest.StartedWithOwner(t)
	conn := dbtest.Owner(t, s.DB)
	owner, foreign := s.Owner(t), dbfactory.Foreigner(t, conn)
	plain := s.Issue(t, tokens.NewToken{Kind: tenancy.KindEnrolment, Name: "ci"})
	held, err := s.Tokens.Bearer(t.Context(), plain)
	if err != nil {
		t.Fatal(err)
	}
	member := tenancy.Principal{
		Kind: tenancy.KindPerson, Role: tenancy.RoleMember, Workspace: owner.Workspace, Account: foreign.Account,
	}
	accountstest.WantFault(t, s.Tokens.Revoke(t.Context(), foreign, held.Token), fault.NotFound)
	accountstest.WantFault(t, s.Tokens.Revoke(t.Context(), member, held.Token), fault.NotFound)
	accountstest.WantFault(t, s.Tokens.Revoke(t.Context(), held, held.Token), fault.Forbidden)
	if _, err := s.Tokens.Bearer(t.Context(), plain); err != nil {
		t.Fatalf("refused revocations ended the token: %v", err)
	}
	for range 2 {
		if err := s.Tokens.Revoke(t.Context(), owner, held.Token); err != nil {
			t.Fatal(err)
		}
	}
	_, err = s.Tokens.Bearer(t.Context(), plain)
	accountstest.WantFault(t, err, fault.TokenRevoked)
}

// The policy lets a token's row be found by who holds the token and by its own
// workspace, and by nobody else.
func TestTokenIsInvisibleElsewhere(t *testing.T) {
	s := accountstest.StartedWithOwner(t)
	conn := dbtest.Owner(t, s.DB)
	foreign := dbfactory.Foreigner(t, conn)
	plain := s.Issue(t, tokens.NewToken{Kind: tenancy.KindEnrolment, Name: "secret"})
	hash := secrets.Hash(plain)

	seen := func(in func(fn func(db.Tx) error) error) bool {
		t.Helper()
		var ok bool
		err := in(func(tx db.Tx) error {
			var err error
			ok, err = tokens.FoundTx(t.Context(), tx, hash)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return ok
	}
	rows := map[string]struct {
		in   func(fn func(db.Tx) error) error
		want bool
	}{
		"by its hash":       {func(fn func(db.Tx) error) error { return s.DB.In(t.Context(), db.Token(hash), fn) }, true},
		"own workspace":     {func(fn func(db.Tx) error) error { return s.DB.In(t.Context(), db.Workspace(s.First.Workspace), fn) }, true},
		"another workspace": {func(fn func(db.Tx) error) error { return s.DB.In(t.Context(), db.Workspace(foreign.Workspace), fn) }, false},
		"by another hash":   {func(fn func(db.Tx) error) error { return s.DB.In(t.Context(), db.Token(secrets.Hash("x")), fn) }, false},
		"no workspace":      {func(fn func(db.Tx) error) error { return s.DB.In(t.Context(), db.None, fn) }, false},
		"a person":          {func(fn func(db.Tx) error) error { return s.DB.In(t.Context(), db.Account(foreign.Account), fn) }, false},
	}
	for name, row := range rows {
		if got := seen(row.in); got != row.want {
			t.Errorf("%s: seen = %v, want %v", name, got, row.want)
		}
	}
}
