package accounts

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"pgregory.net/rapid"

	"fleetboard/db/dbtest"
	"fleetboard/internal/fault"
	"fleetboard/internal/ids"
	"fleetboard/internal/tenancy"
)

// timeoutless is for calls from other goroutines and properties; the database's
// own limits end them.
var timeoutless = context.Background()

// join makes a person in the first workspace.
func (s setting) join(t testing.TB, name string, role tenancy.Role) tenancy.Principal {
	t.Helper()
	who := tenancy.Principal{Kind: tenancy.KindPerson, Workspace: s.first.Workspace, Account: ids.New(), Role: role, Name: name}
	conn := dbtest.Owner(t, s.db)
	_, err := conn.Exec(t.Context(), "INSERT INTO account (id, email, name) VALUES ($1, $2, $3)",
		who.Account, who.Account.String()+"@example.org", name)
	if err != nil {
		t.Fatal(err)
	}
	s.rejoin(t, conn, who)
	return who
}

func (s setting) rejoin(t testing.TB, conn *pgx.Conn, who tenancy.Principal) {
	t.Helper()
	_, err := conn.Exec(t.Context(), "INSERT INTO membership (workspace_id, account_id, role) VALUES ($1, $2, $3)",
		who.Workspace, who.Account, string(who.Role))
	if err != nil {
		t.Fatal(err)
	}
}

// failer is a test, or one case of a property.
type failer interface {
	Helper()
	Fatal(args ...any)
}

// roles reads who is what, by account.
func (s setting) roles(t failer, who tenancy.Principal) map[ids.ID]tenancy.Role {
	t.Helper()
	list, err := s.Members(timeoutless, who)
	if err != nil {
		t.Fatal(err)
	}
	out := map[ids.ID]tenancy.Role{}
	for _, m := range list {
		out[m.Account] = m.Role
	}
	return out
}

func (s setting) wantRole(t *testing.T, who tenancy.Principal, want tenancy.Role) {
	t.Helper()
	if got := s.roles(t, who)[who.Account]; got != want {
		t.Errorf("%s is %q, want %q", who.Name, got, want)
	}
}

func TestMembersAreListedByRoleAndName(t *testing.T) {
	s := startedWithOwner(t)
	owner := s.owner(t)
	s.join(t, "Zoe", tenancy.RoleAdmin)
	s.join(t, "bob", tenancy.RoleMember)
	viewer := s.join(t, "Anna", tenancy.RoleViewer)
	another(t, dbtest.Owner(t, s.db))
	list, err := s.Members(t.Context(), viewer)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, m := range list {
		names = append(names, m.Name)
	}
	if got := strings.Join(names, ", "); got != owner.Name+", Zoe, bob, Anna" {
		t.Errorf("members = %s", got)
	}
	if list[0].Email != testEmail || list[0].Since.IsZero() {
		t.Errorf("the owner is %+v", list[0])
	}
	_, err = s.Members(t.Context(), tenancy.Principal{Kind: tenancy.KindEnrolment, Workspace: s.first.Workspace})
	wantFault(t, err, fault.Forbidden)
}

// The table of who may give which role to whom, and take whom out.
func TestWhoMayChangeWhom(t *testing.T) {
	owner, admin, member, viewer := tenancy.RoleOwner, tenancy.RoleAdmin, tenancy.RoleMember, tenancy.RoleViewer
	list := members{}
	account := map[tenancy.Role][2]ids.ID{}
	for _, r := range Roles {
		account[r] = [2]ids.ID{ids.New(), ids.New()}
		list = append(list, Member{Account: account[r][0], Role: r, Name: "the " + string(r)}, Member{Account: account[r][1], Role: r})
	}
	for _, actor := range Roles {
		for _, target := range Roles {
			at, _ := list.find(account[target][1])
			for _, to := range Roles {
				want := actor == owner || actor == admin && target != owner && to != owner
				if err := list.mayChange(account[actor][0], at, to); (err == nil) != want {
					t.Errorf("%s makes %s %s: %v", actor, target, to, err)
				}
			}
			want := actor == owner || actor == admin && target != owner
			if err := list.mayTakeOut(account[actor][0], at, false); (err == nil) != want {
				t.Errorf("%s removes %s: %v", actor, target, err)
			}
		}
		self, _ := list.find(account[actor][0])
		for _, to := range []tenancy.Role{owner, admin, member, viewer} {
			want := actor == owner || actor == admin && to == admin
			if err := list.mayChange(self.Account, self, to); (err == nil) != want {
				t.Errorf("%s makes himself %s: %v", actor, to, err)
			}
		}
		if err := list.mayTakeOut(self.Account, self, false); err == nil {
			t.Errorf("%s removes himself", actor)
		}
		if err := list.mayTakeOut(self.Account, self, true); err != nil {
			t.Errorf("%s leaves: %v", actor, err)
		}
	}
	if err := list.mayTakeOut(ids.New(), list[0], false); err == nil {
		t.Error("a stranger removes the owner")
	}
}

func TestChangeARole(t *testing.T) {
	s := startedWithOwner(t)
	owner, conn := s.owner(t), dbtest.Owner(t, s.db)
	bob := s.join(t, "Bob", tenancy.RoleMember)
	for range 2 { // the second changes nothing and writes nothing
		if err := s.ChangeRole(t.Context(), owner, bob.Account, tenancy.RoleAdmin); err != nil {
			t.Fatal(err)
		}
	}
	s.wantRole(t, bob, tenancy.RoleAdmin)
	var actor, changes, payload string
	err := conn.QueryRow(t.Context(), "SELECT actor, changes::text, payload::text FROM event WHERE type = 'member.role_changed'").Scan(&actor, &changes, &payload)
	if err != nil || actor != owner.Name || !strings.Contains(payload, "Bob") ||
		!strings.Contains(changes, `"old": "member"`) || !strings.Contains(changes, `"new": "admin"`) {
		t.Errorf("event of %s: %s %s, %v", actor, changes, payload, err)
	}
	if n := count(t, conn, "SELECT count(*) FROM event WHERE type = 'member.role_changed'"); n != 1 {
		t.Errorf("%d events", n)
	}

	// What he may is asked of the database, not of what he came with: Bob was an
	// admin a moment ago.
	bob.Role = tenancy.RoleAdmin
	if err := s.ChangeRole(t.Context(), owner, bob.Account, tenancy.RoleViewer); err != nil {
		t.Fatal(err)
	}
	eve := s.join(t, "Eve", tenancy.RoleViewer)
	wantFault(t, s.ChangeRole(t.Context(), bob, eve.Account, tenancy.RoleAdmin), fault.Forbidden)
	wantFault(t, s.RemoveMember(t.Context(), bob, eve.Account), fault.Forbidden)

	wantFault(t, s.ChangeRole(t.Context(), owner, ids.New(), tenancy.RoleViewer), fault.NotFound)
	wantFault(t, s.ChangeRole(t.Context(), owner, eve.Account, "emperor"), fault.Validation)
	foreign := another(t, conn)
	wantFault(t, s.ChangeRole(t.Context(), owner, foreign.Account, tenancy.RoleViewer), fault.NotFound)
	wantFault(t, s.RemoveMember(t.Context(), owner, foreign.Account), fault.NotFound)
	// An owner of another workspace who names this one is nobody here.
	foreign.Workspace = s.first.Workspace
	wantFault(t, s.ChangeRole(t.Context(), foreign, eve.Account, tenancy.RoleAdmin), fault.Forbidden)
	wantFault(t, s.Leave(t.Context(), foreign), fault.NotFound)
}

// The last owner can neither leave, be removed nor step down, and is told what
// to do.
func TestTheLastOwnerStays(t *testing.T) {
	s := startedWithOwner(t)
	owner := s.owner(t)
	bob := s.join(t, "Bob", tenancy.RoleAdmin)
	for what, err := range map[string]error{
		"step down": s.ChangeRole(t.Context(), owner, owner.Account, tenancy.RoleAdmin),
		"leave":     s.Leave(t.Context(), owner),
	} {
		if f := refusal(t, err, fault.InUse); !strings.Contains(f.Message, "Make another member an owner first") {
			t.Errorf("%s: %s", what, f.Message)
		}
	}
	if err := s.ChangeRole(t.Context(), owner, bob.Account, tenancy.RoleOwner); err != nil {
		t.Fatal(err)
	}
	if err := s.ChangeRole(t.Context(), owner, owner.Account, tenancy.RoleAdmin); err != nil {
		t.Fatal(err)
	}
	wantFault(t, s.Leave(t.Context(), bob), fault.InUse)
	wantFault(t, s.RemoveMember(t.Context(), owner, bob.Account), fault.Forbidden)
	s.wantRole(t, bob, tenancy.RoleOwner)
	if err := s.Leave(t.Context(), owner); err != nil {
		t.Errorf("the former owner leaves: %v", err)
	}
}

// Two owners leave, or put each other down, at the same moment: both have read
// that there are two when the first of them goes.
func TestTwoOwnersGoAtTheSameMoment(t *testing.T) {
	for name, goes := range map[string]func(s setting, a, b tenancy.Principal) error{
		"leave": func(s setting, a, _ tenancy.Principal) error { return s.Leave(timeoutless, a) },
		"step down": func(s setting, a, _ tenancy.Principal) error {
			return s.ChangeRole(timeoutless, a, a.Account, tenancy.RoleViewer)
		},
		"remove": func(s setting, a, b tenancy.Principal) error { return s.RemoveMember(timeoutless, a, b.Account) },
		"unmake other": func(s setting, a, b tenancy.Principal) error {
			return s.ChangeRole(timeoutless, a, b.Account, tenancy.RoleAdmin)
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := startedWithOwner(t)
			ada := s.owner(t)
			eve := s.join(t, "Eve", tenancy.RoleOwner)
			holder, err := dbtest.Owner(t, s.db).Begin(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if _, err := holder.Exec(t.Context(), "SELECT 1 FROM membership FOR UPDATE"); err != nil {
				t.Fatal(err)
			}
			var both sync.WaitGroup
			results := make([]error, 2)
			both.Go(func() { results[0] = goes(s, ada, eve) })
			both.Go(func() { results[1] = goes(s, eve, ada) })
			waiting(t, s, 2)
			if err := holder.Rollback(t.Context()); err != nil {
				t.Fatal(err)
			}
			both.Wait()
			if failed := slices.IndexFunc(results, func(err error) bool { return err != nil }); failed < 0 {
				t.Error("both were let go")
			}
			if n := count(t, dbtest.Owner(t, s.db), "SELECT count(*) FROM membership WHERE role = 'owner'"); n != 1 {
				t.Errorf("%d owners; %v", n, results)
			}
		})
	}
}

// waiting returns when so many statements of the database wait for a lock.
func waiting(t *testing.T, s setting, n int) {
	t.Helper()
	conn, ctx := dbtest.Owner(t, s.db), timeout(t)
	for {
		var now int
		err := conn.QueryRow(ctx, `SELECT count(*) FROM pg_stat_activity
			WHERE datname = current_database() AND wait_event_type = 'Lock'`).Scan(&now)
		if err != nil {
			t.Fatal(err)
		}
		if now >= n {
			return
		}
	}
}

// Whatever a few people do to each other, there is always an owner, and nobody
// is anything that nobody made him.
func TestThereIsAlwaysAnOwner(t *testing.T) {
	s := startedWithOwner(t)
	conn := dbtest.Owner(t, s.db)
	people := []tenancy.Principal{s.owner(t)}
	for _, name := range []string{"Bob", "Cem", "Dee"} {
		people = append(people, s.join(t, name, tenancy.RoleOwner))
	}
	rapid.Check(t, func(r *rapid.T) {
		for i := range rapid.IntRange(1, 12).Draw(r, "steps") {
			actor := rapid.SampledFrom(people).Draw(r, "actor")
			target := rapid.SampledFrom(people).Draw(r, "target")
			before := s.roles(r, people[0])
			var err error
			what := rapid.SampledFrom([]string{"role", "remove", "leave", "return"}).Draw(r, "what")
			role := rapid.SampledFrom(Roles).Draw(r, "role")
			switch what {
			case "role":
				err = s.ChangeRole(timeoutless, actor, target.Account, role)
			case "remove":
				err = s.RemoveMember(timeoutless, actor, target.Account)
			case "leave":
				err = s.Leave(timeoutless, actor)
			case "return":
				_, _ = conn.Exec(timeoutless, "INSERT INTO membership (workspace_id, account_id, role) VALUES ($1, $2, 'viewer') ON CONFLICT DO NOTHING",
					target.Workspace, target.Account)
			}
			after := s.roles(r, people[0])
			owners := 0
			for account, now := range after {
				if now == tenancy.RoleOwner {
					owners++
				}
				if now == tenancy.RoleOwner && before[account] != now && before[actor.Account] != tenancy.RoleOwner {
					r.Fatalf("step %d: %s (%s) made an owner", i, actor.Name, before[actor.Account])
				}
			}
			if owners == 0 {
				r.Fatalf("step %d: no owner after %s by %s", i, what, actor.Name)
			}
			if err != nil && len(after) != len(before) {
				r.Fatalf("step %d: refused (%v), and yet somebody went", i, err)
			}
		}
	})
}

// Who goes loses the tokens of this workspace at once and for good; sessions go
// on where he still is.
func TestWhatALeaverKeeps(t *testing.T) {
	for name, leave := range map[string]func(s setting, owner, bob tenancy.Principal) error{
		"removed": func(s setting, owner, bob tenancy.Principal) error {
			return s.RemoveMember(timeoutless, owner, bob.Account)
		},
		"left": func(s setting, _, bob tenancy.Principal) error { return s.Leave(timeoutless, bob) },
	} {
		t.Run(name, func(t *testing.T) {
			s := startedWithOwner(t)
			conn := dbtest.Owner(t, s.db)
			owner, other := s.owner(t), another(t, conn)
			bob := s.join(t, "Bob", tenancy.RoleAdmin)
			there := bob
			there.Workspace, there.Role = other.Workspace, tenancy.RoleMember
			s.rejoin(t, conn, there)
			here, err := s.IssueToken(t.Context(), bob, NewToken{Kind: tenancy.KindPerson, Name: "laptop"})
			if err != nil {
				t.Fatal(err)
			}
			elsewhere, err := s.IssueToken(t.Context(), there, NewToken{Kind: tenancy.KindPerson, Name: "laptop"})
			if err != nil {
				t.Fatal(err)
			}
			told := make(chan struct{}, 10)
			defer s.OnMembers(s.first.Workspace, func() { told <- struct{}{} })()

			if err := leave(s, owner, bob); err != nil {
				t.Fatal(err)
			}
			select {
			case <-told:
			default:
				t.Error("nobody was told")
			}
			_, err = s.Bearer(t.Context(), here)
			wantFault(t, err, fault.TokenRevoked)
			if who, err := s.Bearer(t.Context(), elsewhere); err != nil || who.Workspace != other.Workspace {
				t.Errorf("the token of the other workspace: %+v, %v", who, err)
			}
			who, err := s.Person(t.Context(), bob.Account, s.first.Workspace)
			if err != nil || who.Workspace != other.Workspace || who.Role != tenancy.RoleMember {
				t.Errorf("his session goes on as %+v, %v", who, err)
			}
			// Coming back does not bring old tokens back.
			s.rejoin(t, conn, bob)
			_, err = s.Bearer(t.Context(), here)
			wantFault(t, err, fault.TokenRevoked)
			if n := count(t, conn, "SELECT count(*) FROM event WHERE type = 'member."+name+"' AND payload->>'member' = 'Bob'"); n != 1 {
				t.Errorf("%d events", n)
			}
		})
	}
}
