package members_test

import (
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/db/dbtest"
	"github.com/fleetboard/fleetboard/internal/accounts/accountstest"
	"github.com/fleetboard/fleetboard/internal/accounts/members"
	"github.com/fleetboard/fleetboard/internal/accounts/tokens"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// roles reads who is what, by account.
func roles(t accountstest.Failer, s accountstest.Setting, who tenancy.Principal) map[ids.ID]tenancy.Role {
	t.Helper()
	list, err := s.Members.List(accountstest.Timeoutless, who)
	if err != nil {
		t.Fatal(err)
	}
	out := map[ids.ID]tenancy.Role{}
	for _, m := range list {
		out[m.Account] = m.Role
	}
	return out
}

func wantRole(t *testing.T, s accountstest.Setting, who tenancy.Principal, want tenancy.Role) {
	t.Helper()
	if got := roles(t, s, who)[who.Account]; got != want {
		t.Errorf("%s is %q, want %q", who.Name, got, want)
	}
}

func TestMembersAreListedByRoleAndName(t *testing.T) {
	s := accountstest.StartedWithOwner(t)
	owner := s.Owner(t)
	s.Join(t, "Zoe", tenancy.RoleAdmin)
	s.Join(t, "bob", tenancy.RoleMember)
	viewer := s.Join(t, "Anna", tenancy.RoleViewer)
	dbfactory.Foreigner(t, dbtest.Owner(t, s.DB))
	list, err := s.Members.List(t.Context(), viewer)
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
	if list[0].Email != accountstest.Email || list[0].Since.IsZero() {
		t.Errorf("the owner is %+v", list[0])
	}
	_, err = s.Members.List(t.Context(), tenancy.Principal{Kind: tenancy.KindEnrolment, Workspace: s.First.Workspace})
	accountstest.WantFault(t, err, fault.Forbidden)
}

func TestChangeARole(t *testing.T) {
	s := accountstest.StartedWithOwner(t)
	owner, conn := s.Owner(t), dbtest.Owner(t, s.DB)
	bob := s.Join(t, "Bob", tenancy.RoleMember)
	for range 2 { // the second changes nothing and writes nothing
		if err := s.Members.ChangeRole(t.Context(), owner, bob.Account, tenancy.RoleAdmin); err != nil {
			t.Fatal(err)
		}
	}
	wantRole(t, s, bob, tenancy.RoleAdmin)
	var actor, changes, payload string
	err := conn.QueryRow(t.Context(), "SELECT actor, changes::text, payload::text FROM event WHERE type = 'member.role_changed'").Scan(&actor, &changes, &payload)
	if err != nil || actor != owner.Name || !strings.Contains(payload, "Bob") ||
		!strings.Contains(changes, `"old": "member"`) || !strings.Contains(changes, `"new": "admin"`) {
		t.Errorf("event of %s: %s %s, %v", actor, changes, payload, err)
	}
	if n := accountstest.Count(t, conn, "SELECT count(*) FROM event WHERE type = 'member.role_changed'"); n != 1 {
		t.Errorf("%d events", n)
	}

	// What he may do follows from the database, not from what he came with: Bob was an
	// admin a moment ago.
	bob.Role = tenancy.RoleAdmin
	if err := s.Members.ChangeRole(t.Context(), owner, bob.Account, tenancy.RoleViewer); err != nil {
		t.Fatal(err)
	}
	eve := s.Join(t, "Eve", tenancy.RoleViewer)
	accountstest.WantFault(t, s.Members.ChangeRole(t.Context(), bob, eve.Account, tenancy.RoleAdmin), fault.Forbidden)
	accountstest.WantFault(t, s.Members.Remove(t.Context(), bob, eve.Account), fault.Forbidden)

	accountstest.WantFault(t, s.Members.ChangeRole(t.Context(), owner, ids.New(), tenancy.RoleViewer), fault.NotFound)
	accountstest.WantFault(t, s.Members.ChangeRole(t.Context(), owner, eve.Account, "emperor"), fault.Validation)
	foreign := dbfactory.Foreigner(t, conn)
	accountstest.WantFault(t, s.Members.ChangeRole(t.Context(), owner, foreign.Account, tenancy.RoleViewer), fault.NotFound)
	accountstest.WantFault(t, s.Members.Remove(t.Context(), owner, foreign.Account), fault.NotFound)
	// An owner of another workspace who names this one is nobody here.
	foreign.Workspace = s.First.Workspace
	accountstest.WantFault(t, s.Members.ChangeRole(t.Context(), foreign, eve.Account, tenancy.RoleAdmin), fault.Forbidden)
	accountstest.WantFault(t, s.Members.Leave(t.Context(), foreign), fault.NotFound)
}

// The last owner can neither leave, be removed nor step down, and learns what
// to do.
func TestTheLastOwnerStays(t *testing.T) {
	s := accountstest.StartedWithOwner(t)
	owner := s.Owner(t)
	bob := s.Join(t, "Bob", tenancy.RoleAdmin)
	for what, err := range map[string]error{
		"step down": s.Members.ChangeRole(t.Context(), owner, owner.Account, tenancy.RoleAdmin),
		"leave":     s.Members.Leave(t.Context(), owner),
	} {
		if f := accountstest.Refusal(t, err, fault.InUse); !strings.Contains(f.Message, "Make another member an owner first") {
			t.Errorf("%s: %s", what, f.Message)
		}
	}
	if err := s.Members.ChangeRole(t.Context(), owner, bob.Account, tenancy.RoleOwner); err != nil {
		t.Fatal(err)
	}
	if err := s.Members.ChangeRole(t.Context(), owner, owner.Account, tenancy.RoleAdmin); err != nil {
		t.Fatal(err)
	}
	accountstest.WantFault(t, s.Members.Leave(t.Context(), bob), fault.InUse)
	accountstest.WantFault(t, s.Members.Remove(t.Context(), owner, bob.Account), fault.Forbidden)
	wantRole(t, s, bob, tenancy.RoleOwner)
	if err := s.Members.Leave(t.Context(), owner); err != nil {
		t.Errorf("the former owner leaves: %v", err)
	}
}

// Two owners leave, or put each other down, at the same moment: both have read
// that there are two when the first of them goes.
func TestTwoOwnersGoAtTheSameMoment(t *testing.T) {
	for name, goes := range map[string]func(s accountstest.Setting, a, b tenancy.Principal) error{
		"leave": func(s accountstest.Setting, a, _ tenancy.Principal) error {
			return s.Members.Leave(accountstest.Timeoutless, a)
		},
		"step down": func(s accountstest.Setting, a, _ tenancy.Principal) error {
			return s.Members.ChangeRole(accountstest.Timeoutless, a, a.Account, tenancy.RoleViewer)
		},
		"remove": func(s accountstest.Setting, a, b tenancy.Principal) error {
			return s.Members.Remove(accountstest.Timeoutless, a, b.Account)
		},
		"unmake other": func(s accountstest.Setting, a, b tenancy.Principal) error {
			return s.Members.ChangeRole(accountstest.Timeoutless, a, b.Account, tenancy.RoleAdmin)
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := accountstest.StartedWithOwner(t)
			ada := s.Owner(t)
			eve := s.Join(t, "Eve", tenancy.RoleOwner)
			holder, err := dbtest.Owner(t, s.DB).Begin(t.Context())
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
			if n := accountstest.Count(t, dbtest.Owner(t, s.DB), "SELECT count(*) FROM membership WHERE role = 'owner'"); n != 1 {
				t.Errorf("%d owners; %v", n, results)
			}
		})
	}
}

// waiting returns when so many statements of the database wait for a lock.
func waiting(t *testing.T, s accountstest.Setting, n int) {
	t.Helper()
	conn, ctx := dbtest.Owner(t, s.DB), accountstest.Timeout(t)
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
	s := accountstest.StartedWithOwner(t)
	conn := dbtest.Owner(t, s.DB)
	people := []tenancy.Principal{s.Owner(t)}
	for _, name := range []string{"Bob", "Cem", "Dee"} {
		people = append(people, s.Join(t, name, tenancy.RoleOwner))
	}
	rapid.Check(t, func(r *rapid.T) {
		for i := range rapid.IntRange(1, 12).Draw(r, "steps") {
			actor := rapid.SampledFrom(people).Draw(r, "actor")
			target := rapid.SampledFrom(people).Draw(r, "target")
			before := roles(r, s, people[0])
			var err error
			what := rapid.SampledFrom([]string{"role", "remove", "leave", "return"}).Draw(r, "what")
			role := rapid.SampledFrom(members.Roles).Draw(r, "role")
			switch what {
			case "role":
				err = s.Members.ChangeRole(accountstest.Timeoutless, actor, target.Account, role)
			case "remove":
				err = s.Members.Remove(accountstest.Timeoutless, actor, target.Account)
			case "leave":
				err = s.Members.Leave(accountstest.Timeoutless, actor)
			case "return":
				_, _ = conn.Exec(accountstest.Timeoutless, "INSERT INTO membership (workspace_id, account_id, role) VALUES ($1, $2, 'viewer') ON CONFLICT DO NOTHING",
					target.Workspace, target.Account)
			}
			after := roles(r, s, people[0])
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
	for name, leave := range map[string]func(s accountstest.Setting, owner, bob tenancy.Principal) error{
		"removed": func(s accountstest.Setting, owner, bob tenancy.Principal) error {
			return s.Members.Remove(accountstest.Timeoutless, owner, bob.Account)
		},
		"left": func(s accountstest.Setting, _, bob tenancy.Principal) error {
			return s.Members.Leave(accountstest.Timeoutless, bob)
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := accountstest.StartedWithOwner(t)
			conn := dbtest.Owner(t, s.DB)
			owner, other := s.Owner(t), dbfactory.Foreigner(t, conn)
			bob := s.Join(t, "Bob", tenancy.RoleAdmin)
			there := bob
			there.Workspace, there.Role = other.Workspace, tenancy.RoleMember
			dbfactory.Member(t, conn, there)
			here, err := s.Tokens.Issue(t.Context(), bob, tokens.NewToken{Kind: tenancy.KindPerson, Name: "laptop"})
			if err != nil {
				t.Fatal(err)
			}
			elsewhere, err := s.Tokens.Issue(t.Context(), there, tokens.NewToken{Kind: tenancy.KindPerson, Name: "laptop"})
			if err != nil {
				t.Fatal(err)
			}
			told := make(chan struct{}, 10)
			defer s.Members.OnMembers(s.First.Workspace, func() { told <- struct{}{} })()

			if err := leave(s, owner, bob); err != nil {
				t.Fatal(err)
			}
			select {
			case <-told:
			default:
				t.Error("nobody was told")
			}
			_, err = s.Tokens.Bearer(t.Context(), here)
			accountstest.WantFault(t, err, fault.TokenRevoked)
			if who, err := s.Tokens.Bearer(t.Context(), elsewhere); err != nil || who.Workspace != other.Workspace {
				t.Errorf("the token of the other workspace: %+v, %v", who, err)
			}
			who, err := s.Workspaces.Person(t.Context(), bob.Account, s.First.Workspace)
			if err != nil || who.Workspace != other.Workspace || who.Role != tenancy.RoleMember {
				t.Errorf("his session goes on as %+v, %v", who, err)
			}
			// Coming back does not bring old tokens back.
			dbfactory.Member(t, conn, bob)
			_, err = s.Tokens.Bearer(t.Context(), here)
			accountstest.WantFault(t, err, fault.TokenRevoked)
			if n := accountstest.Count(t, conn, "SELECT count(*) FROM event WHERE type = 'member."+name+"' AND payload->>'member' = 'Bob'"); n != 1 {
				t.Errorf("%d events", n)
			}
		})
	}
}
