package accounts

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fleetboard/db/dbtest"
	"fleetboard/internal/fault"
	"fleetboard/internal/ids"
	"fleetboard/internal/tenancy"
)

func TestTokensAreListedForWhoMaySeeThem(t *testing.T) {
	s := startedWithOwner(t)
	conn := dbtest.Owner(t, s.db)
	owner, foreign := s.owner(t), another(t, conn)
	s.issue(t, NewToken{Kind: tenancy.KindPerson, Name: "laptop"})
	exec(t, conn, "INSERT INTO membership (workspace_id, account_id, role) VALUES ($1, $2, 'member')", owner.Workspace, foreign.Account)
	member := tenancy.Principal{Kind: tenancy.KindPerson, Role: tenancy.RoleMember, Workspace: owner.Workspace, Account: foreign.Account, Name: "Eve"}
	if _, err := s.IssueToken(t.Context(), member, NewToken{Kind: tenancy.KindPerson, Name: "hers"}); err != nil {
		t.Fatal(err)
	}
	names := func(who tenancy.Principal) string {
		t.Helper()
		list, err := s.Tokens(t.Context(), who)
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
		_, err := s.Tokens(t.Context(), nobody)
		wantFault(t, err, fault.Forbidden)
	}
}

func TestATokenInTheList(t *testing.T) {
	s := startedWithOwner(t)
	conn := dbtest.Owner(t, s.db)
	owner := s.owner(t)
	end := time.Now().Add(time.Hour)
	scope := tenancy.Scope{Products: []string{firstProduct}, Capabilities: []string{"os:mac"}, Factory: "mac-1"}
	plain := s.issue(t, NewToken{Kind: tenancy.KindEnrolment, Name: "macs", Products: scope.Products,
		Capabilities: scope.Capabilities, Factory: scope.Factory, ExpiresAt: &end})
	find := func() (Token, bool) {
		t.Helper()
		list, err := s.Tokens(t.Context(), owner)
		if err != nil {
			t.Fatal(err)
		}
		for _, one := range list {
			if one.Name == "macs" {
				return one, true
			}
		}
		return Token{}, false
	}
	one, _ := find()
	if diff := cmp.Diff(scope, one.Scope); diff != "" {
		t.Error(diff)
	}
	if one.State != TokenLive || one.CreatedBy != owner.Name || one.LastUsedAt != nil || one.Now.IsZero() ||
		one.ExpiresAt.Sub(end).Abs() > time.Millisecond || !strings.HasPrefix(plain, strings.TrimSuffix(one.Hint, "…")) {
		t.Errorf("token = %+v", one)
	}
	if _, err := s.Bearer(t.Context(), plain); err != nil {
		t.Fatal(err)
	}
	if one, _ = find(); one.LastUsedAt == nil {
		t.Error("its use is not shown")
	}
	exec(t, conn, "UPDATE access_token SET expires_at = now() - interval '1 minute' WHERE name = 'macs'")
	if one, _ = find(); one.State != TokenExpired || one.EndedAt.IsZero() {
		t.Errorf("after its end: %+v", one)
	}
	if err := s.RevokeToken(t.Context(), owner, one.ID); err != nil {
		t.Fatal(err)
	}
	if one, _ = find(); one.State != TokenRevoked {
		t.Errorf("after it was revoked: %+v", one)
	}
	exec(t, conn, "UPDATE access_token SET revoked_at = now() - interval '31 days' WHERE name = 'macs'")
	if _, listed := find(); listed {
		t.Error("a token that ended a month ago is still listed")
	}
}

func TestScopeOfANewToken(t *testing.T) {
	s := startedWithOwner(t)
	owner := s.owner(t)
	conn := dbtest.Owner(t, s.db)
	foreign := another(t, conn)
	exec(t, conn, "INSERT INTO product (workspace_id, id, name) VALUES ($1, $2, 'theirs')", foreign.Workspace, ids.New())
	many := make([]string, maxScope+1)
	for i := range many {
		many[i] = fmt.Sprintf("node:%d", i)
	}
	for name, c := range map[string]struct {
		change func(*NewToken)
		field  string
	}{
		"a product that is there":     {func(n *NewToken) { n.Products = []string{firstProduct} }, ""},
		"an unknown product":          {func(n *NewToken) { n.Products = []string{firstProduct, "atlsa"} }, "products"},
		"another workspace's product": {func(n *NewToken) { n.Products = []string{"theirs"} }, "products"},
		"too many products":           {func(n *NewToken) { n.Products = many }, "products"},
		"capabilities":                {func(n *NewToken) { n.Capabilities = []string{"os:mac", "has:git"} }, ""},
		"no capability":               {func(n *NewToken) { n.Capabilities = []string{"HAS git"} }, "capabilities[0]"},
		"a repo":                      {func(n *NewToken) { n.Capabilities = []string{"repo:atlas"} }, "capabilities"},
		"too many capabilities":       {func(n *NewToken) { n.Capabilities = many }, "capabilities"},
		"a factory":                   {func(n *NewToken) { n.Factory = "mac-1" }, ""},
		"no factory":                  {func(n *NewToken) { n.Factory = "mac 1" }, "factory"},
		"a factory with a slash":      {func(n *NewToken) { n.Factory = "a/b" }, "factory"},
		"a name of two lines":         {func(n *NewToken) { n.Name = "a\nb" }, "name"},
	} {
		t.Run(name, func(t *testing.T) {
			in := NewToken{Kind: tenancy.KindEnrolment, Name: "x"}
			c.change(&in)
			plain, err := s.IssueToken(t.Context(), owner, in)
			if c.field == "" {
				if err != nil || plain == "" {
					t.Errorf("refused: %v", err)
				}
				return
			}
			if f := refusal(t, err, fault.Validation); f.Fields[c.field] == "" || plain != "" {
				t.Errorf("fields = %v; want %s", f.Fields, c.field)
			}
		})
	}
}

// A token keeps the names of its products: one that was deleted since limits it
// to nothing more, and never to everything.
func TestADeletedProductStaysInTheScope(t *testing.T) {
	s := startedWithOwner(t)
	conn := dbtest.Owner(t, s.db)
	exec(t, conn, "INSERT INTO product (workspace_id, id, name) VALUES ($1, $2, 'atlas')", s.first.Workspace, ids.New())
	plain := s.issue(t, NewToken{Kind: tenancy.KindEnrolment, Name: "x", Products: []string{"atlas"}})
	exec(t, conn, "DELETE FROM product WHERE name = 'atlas'")
	who, err := s.Bearer(t.Context(), plain)
	if err != nil || !cmp.Equal(who.Scope.Products, []string{"atlas"}) {
		t.Errorf("scope = %+v, %v", who.Scope, err)
	}
}

func TestAFormSentTwiceMakesOneToken(t *testing.T) {
	s := startedWithOwner(t)
	owner := s.owner(t)
	in := NewToken{Kind: tenancy.KindEnrolment, Name: "twice", FormKey: ids.New().String()}
	first, err := s.IssueToken(t.Context(), owner, in)
	if err != nil {
		t.Fatal(err)
	}
	again, err := s.IssueToken(t.Context(), owner, in)
	wantFault(t, err, fault.AlreadyExists)
	if again != "" {
		t.Error("a second token was given out")
	}
	if n := count(t, dbtest.Owner(t, s.db), "SELECT count(*) FROM access_token WHERE name = 'twice'"); n != 1 {
		t.Errorf("%d tokens were made", n)
	}
	if _, err := s.Bearer(t.Context(), first); err != nil {
		t.Errorf("the first one: %v", err)
	}
}

func TestThereIsAMostOfLiveTokens(t *testing.T) {
	s := startedWithOwner(t)
	conn := dbtest.Owner(t, s.db)
	owner := s.owner(t)
	fill := func(kind tenancy.Kind, n int) {
		exec(t, conn, `INSERT INTO access_token (workspace_id, id, kind, name, token_hash, hint, account_id, created_by)
			SELECT $1, gen_random_uuid(), $2, 'many', sha256(($2 || i)::bytea), 'fb', CASE WHEN $2 = 'person' THEN $3::uuid END, 'x'
			FROM generate_series(1, $4::int) i`, owner.Workspace, string(kind), owner.Account, n)
	}
	fill(tenancy.KindEnrolment, maxEnrolmentTokens)
	_, err := s.IssueToken(t.Context(), owner, NewToken{Kind: tenancy.KindEnrolment, Name: "one more"})
	wantFault(t, err, fault.Validation)
	// Persons have a number of their own, and ended tokens do not count.
	s.issue(t, NewToken{Kind: tenancy.KindPerson, Name: "mine"})
	exec(t, conn, "UPDATE access_token SET revoked_at = now() WHERE kind = 'enrolment'")
	s.issue(t, NewToken{Kind: tenancy.KindEnrolment, Name: "room again"})
	fill(tenancy.KindPerson, maxPersonTokens-2)
	_, err = s.IssueToken(t.Context(), owner, NewToken{Kind: tenancy.KindPerson, Name: "one more"})
	wantFault(t, err, fault.Validation)
}

// What happens to tokens is in the log, and never a token.
func TestTokensLeaveEvents(t *testing.T) {
	s := startedWithOwner(t)
	conn := dbtest.Owner(t, s.db)
	owner := s.owner(t)
	plain := s.issue(t, NewToken{Kind: tenancy.KindEnrolment, Name: "macs", Capabilities: []string{"os:mac"}, Factory: "mac-1"})
	held, err := s.Bearer(t.Context(), plain)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := s.RevokeToken(t.Context(), owner, held.Token); err != nil {
			t.Fatal(err)
		}
	}
	for _, kind := range []string{"token.issued", "token.revoked"} {
		n := count(t, conn, `SELECT count(*) FROM event WHERE type = $1 AND actor = $2 AND actor_kind = 'person'
			AND payload->>'name' = 'macs' AND payload->>'kind' = 'enrolment' AND payload->>'factory' = 'mac-1'
			AND payload->'capabilities' = '["os:mac"]' AND $3 LIKE replace(payload->>'hint', '…', '%')`, kind, owner.Name, plain)
		if n != 1 {
			t.Errorf("%d events %s, want 1", n, kind)
		}
	}
	secret := strings.Split(plain, "_")[2]
	if n := count(t, conn, "SELECT count(*) FROM event e WHERE position($1 IN e::text) > 0", secret); n != 0 {
		t.Error("a token is in the log")
	}
}
