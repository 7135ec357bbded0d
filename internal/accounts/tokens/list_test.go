package tokens_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/db/dbtest"
	"github.com/fleetboard/fleetboard/internal/accounts/accountstest"
	"github.com/fleetboard/fleetboard/internal/accounts/tokens"
	"github.com/fleetboard/fleetboard/internal/accounts/workspaces"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

func TestTokensAreListedForWhoMaySeeThem(t *testing.T) {
	s := accountstest.StartedWithOwner(t)
	conn := dbtest.Owner(t, s.DB)
	owner, foreign := s.Owner(t), dbfactory.Foreigner(t, conn)
	s.Issue(t, tokens.NewToken{Kind: tenancy.KindPerson, Name: "laptop"})
	accountstest.Exec(t, conn, "INSERT INTO membership (workspace_id, account_id, role) VALUES ($1, $2, 'member')", owner.Workspace, foreign.Account)
	member := tenancy.Principal{Kind: tenancy.KindPerson, Role: tenancy.RoleMember, Workspace: owner.Workspace, Account: foreign.Account, Name: "Eve"}
	if _, err := s.Tokens.Issue(t.Context(), member, tokens.NewToken{Kind: tenancy.KindPerson, Name: "hers"}); err != nil {
		t.Fatal(err)
	}
	names := func(who tenancy.Principal) string {
		t.Helper()
		list, err := s.Tokens.List(t.Context(), who)
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, one := range list {
			out = append(out, one.Name)
		}
		return strings.Join(out, ", ")
	}
	// The first start made the two of the files.
	if got := names(owner); got != "laptop, First start, First start" && !strings.HasPrefix(got, "laptop, ") {
		t.Errorf("the owner sees %q", got)
	}
	if strings.Contains(names(owner), "hers") {
		t.Error("the owner sees a member's own token")
	}
	if got := names(member); got != "hers" {
		t.Errorf("the member sees %q", got)
	}
	if got := names(foreign); got != "" {
		t.Errorf("another workspace sees %q", got)
	}
	for _, nobody := range []tenancy.Principal{{}, agent(), tenancy.System(owner.Workspace, "loop"), {Kind: tenancy.KindEnrolment, Workspace: owner.Workspace}} {
		_, err := s.Tokens.List(t.Context(), nobody)
		accountstest.WantFault(t, err, fault.Forbidden)
	}
}

func TestATokenInTheList(t *testing.T) {
	s := accountstest.StartedWithOwner(t)
	conn := dbtest.Owner(t, s.DB)
	owner := s.Owner(t)
	end := time.Now().Add(time.Hour)
	scope := tenancy.Scope{Products: []string{workspaces.FirstProduct}, Capabilities: []string{"os:mac"}, Factory: "mac-1"}
	plain := s.Issue(t, tokens.NewToken{Kind: tenancy.KindEnrolment, Name: "macs", Products: scope.Products,
		Capabilities: scope.Capabilities, Factory: scope.Factory, ExpiresAt: &end})
	find := func() (tokens.Token, bool) {
		t.Helper()
		list, err := s.Tokens.List(t.Context(), owner)
		if err != nil {
			t.Fatal(err)
		}
		for _, one := range list {
			if one.Name == "macs" {
				return one, true
			}
		}
		return tokens.Token{}, false
	}
	one, _ := find()
	if diff := cmp.Diff(scope, one.Scope); diff != "" {
		t.Error(diff)
	}
	if one.State != tokens.Live || one.CreatedBy != owner.Name || one.LastUsedAt != nil || one.Now.IsZero() ||
		one.ExpiresAt.Sub(end).Abs() > time.Millisecond || !strings.HasPrefix(plain, strings.TrimSuffix(one.Hint, "…")) {
		t.Errorf("token = %+v", one)
	}
	if _, err := s.Tokens.Bearer(t.Context(), plain); err != nil {
		t.Fatal(err)
	}
	if one, _ = find(); one.LastUsedAt == nil {
		t.Error("its use is not shown")
	}
	accountstest.Exec(t, conn, "UPDATE access_token SET expires_at = now() - interval '1 minute' WHERE name = 'macs'")
	if one, _ = find(); one.State != tokens.Expired || one.EndedAt.IsZero() {
		t.Errorf("after its end: %+v", one)
	}
	if err := s.Tokens.Revoke(t.Context(), owner, one.ID); err != nil {
		t.Fatal(err)
	}
	if one, _ = find(); one.State != tokens.Revoked {
		t.Errorf("after it was revoked: %+v", one)
	}
	accountstest.Exec(t, conn, "UPDATE access_token SET revoked_at = now() - interval '31 days' WHERE name = 'macs'")
	if _, listed := find(); listed {
		t.Error("a token that ended a month ago is still listed")
	}
}

func TestScopeOfANewToken(t *testing.T) {
	s := accountstest.StartedWithOwner(t)
	owner := s.Owner(t)
	conn := dbtest.Owner(t, s.DB)
	foreign := dbfactory.Foreigner(t, conn)
	accountstest.Exec(t, conn, "INSERT INTO product (workspace_id, id, name) VALUES ($1, $2, 'theirs')", foreign.Workspace, ids.New())
	many := make([]string, tokens.MaxScope+1)
	for i := range many {
		many[i] = fmt.Sprintf("node:%d", i)
	}
	for name, c := range map[string]struct {
		change func(*tokens.NewToken)
		field  string
	}{
		"a product that is there":     {func(n *tokens.NewToken) { n.Products = []string{workspaces.FirstProduct} }, ""},
		"an unknown product":          {func(n *tokens.NewToken) { n.Products = []string{workspaces.FirstProduct, "atlsa"} }, "products"},
		"another workspace's product": {func(n *tokens.NewToken) { n.Products = []string{"theirs"} }, "products"},
		"too many products":           {func(n *tokens.NewToken) { n.Products = many }, "products"},
		"capabilities":                {func(n *tokens.NewToken) { n.Capabilities = []string{"os:mac", "has:git"} }, ""},
		"no capability":               {func(n *tokens.NewToken) { n.Capabilities = []string{"HAS git"} }, "capabilities[0]"},
		"a repo":                      {func(n *tokens.NewToken) { n.Capabilities = []string{"repo:atlas"} }, "capabilities"},
		"too many capabilities":       {func(n *tokens.NewToken) { n.Capabilities = many }, "capabilities"},
		"a factory":                   {func(n *tokens.NewToken) { n.Factory = "mac-1" }, ""},
		"no factory":                  {func(n *tokens.NewToken) { n.Factory = "mac 1" }, "factory"},
		"a factory with a slash":      {func(n *tokens.NewToken) { n.Factory = "a/b" }, "factory"},
		"a name of two lines":         {func(n *tokens.NewToken) { n.Name = "a\nb" }, "name"},
	} {
		t.Run(name, func(t *testing.T) {
			in := tokens.NewToken{Kind: tenancy.KindEnrolment, Name: "x"}
			c.change(&in)
			plain, err := s.Tokens.Issue(t.Context(), owner, in)
			if c.field == "" {
				if err != nil || plain == "" {
					t.Errorf("refused: %v", err)
				}
				return
			}
			if f := accountstest.Refusal(t, err, fault.Validation); f.Fields[c.field] == "" || plain != "" {
				t.Errorf("fields = %v; want %s", f.Fields, c.field)
			}
		})
	}
}

// A token keeps the names of its products: one that was deleted since limits it
// to nothing more, and never to everything.
func TestADeletedProductStaysInTheScope(t *testing.T) {
	s := accountstest.StartedWithOwner(t)
	conn := dbtest.Owner(t, s.DB)
	accountstest.Exec(t, conn, "INSERT INTO product (workspace_id, id, name) VALUES ($1, $2, 'atlas')", s.First.Workspace, ids.New())
	plain := s.Issue(t, tokens.NewToken{Kind: tenancy.KindEnrolment, Name: "x", Products: []string{"atlas"}})
	accountstest.Exec(t, conn, "DELETE FROM product WHERE name = 'atlas'")
	who, err := s.Tokens.Bearer(t.Context(), plain)
	if err != nil || !cmp.Equal(who.Scope.Products, []string{"atlas"}) {
		t.Errorf("scope = %+v, %v", who.Scope, err)
	}
}

func TestAFormSentTwiceMakesOneToken(t *testing.T) {
	s := accountstest.StartedWithOwner(t)
	owner := s.Owner(t)
	in := tokens.NewToken{Kind: tenancy.KindEnrolment, Name: "twice", FormKey: ids.New().String()}
	first, err := s.Tokens.Issue(t.Context(), owner, in)
	if err != nil {
		t.Fatal(err)
	}
	again, err := s.Tokens.Issue(t.Context(), owner, in)
	accountstest.WantFault(t, err, fault.AlreadyExists)
	if again != "" {
		t.Error("a second token was given out")
	}
	if n := accountstest.Count(t, dbtest.Owner(t, s.DB), "SELECT count(*) FROM access_token WHERE name = 'twice'"); n != 1 {
		t.Errorf("%d tokens were made", n)
	}
	if _, err := s.Tokens.Bearer(t.Context(), first); err != nil {
		t.Errorf("the first one: %v", err)
	}
}

func TestThereIsAMostOfLiveTokens(t *testing.T) {
	s := accountstest.StartedWithOwner(t)
	conn := dbtest.Owner(t, s.DB)
	owner := s.Owner(t)
	fill := func(kind tenancy.Kind, n int) {
		accountstest.Exec(t, conn, `INSERT INTO access_token (workspace_id, id, kind, name, token_hash, hint, account_id, created_by)
			SELECT $1, gen_random_uuid(), $2, 'many', sha256(($2 || i)::bytea), 'fb', CASE WHEN $2 = 'person' THEN $3::uuid END, 'x'
			FROM generate_series(1, $4::int) i`, owner.Workspace, string(kind), owner.Account, n)
	}
	fill(tenancy.KindEnrolment, tokens.MaxEnrolment)
	_, err := s.Tokens.Issue(t.Context(), owner, tokens.NewToken{Kind: tenancy.KindEnrolment, Name: "one more"})
	accountstest.WantFault(t, err, fault.Validation)
	// Persons have a number of their own, and ended tokens do not count.
	s.Issue(t, tokens.NewToken{Kind: tenancy.KindPerson, Name: "mine"})
	accountstest.Exec(t, conn, "UPDATE access_token SET revoked_at = now() WHERE kind = 'enrolment'")
	s.Issue(t, tokens.NewToken{Kind: tenancy.KindEnrolment, Name: "room again"})
	fill(tenancy.KindPerson, tokens.MaxPersonal-2)
	_, err = s.Tokens.Issue(t.Context(), owner, tokens.NewToken{Kind: tenancy.KindPerson, Name: "one more"})
	accountstest.WantFault(t, err, fault.Validation)
}

// What happens to tokens is in the log, and never a token.
func TestTokensLeaveEvents(t *testing.T) {
	s := accountstest.StartedWithOwner(t)
	conn := dbtest.Owner(t, s.DB)
	owner := s.Owner(t)
	plain := s.Issue(t, tokens.NewToken{Kind: tenancy.KindEnrolment, Name: "macs", Capabilities: []string{"os:mac"}, Factory: "mac-1"})
	held, err := s.Tokens.Bearer(t.Context(), plain)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := s.Tokens.Revoke(t.Context(), owner, held.Token); err != nil {
			t.Fatal(err)
		}
	}
	for _, kind := range []string{"token.issued", "token.revoked"} {
		n := accountstest.Count(t, conn, `SELECT count(*) FROM event WHERE type = $1 AND actor = $2 AND actor_kind = 'person'
			AND payload->>'name' = 'macs' AND payload->>'kind' = 'enrolment' AND payload->>'factory' = 'mac-1'
			AND payload->'capabilities' = '["os:mac"]' AND $3 LIKE replace(payload->>'hint', '…', '%')`, kind, owner.Name, plain)
		if n != 1 {
			t.Errorf("%d events %s, want 1", n, kind)
		}
	}
	secret := strings.Split(plain, "_")[2]
	if n := accountstest.Count(t, conn, "SELECT count(*) FROM event e WHERE position($1 IN e::text) > 0", secret); n != 0 {
		t.Error("a token is in the log")
	}
}
