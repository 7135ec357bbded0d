package workspaces_test

import (
	"strings"
	"sync"
	"testing"

	"github.com/fleetboard/fleetboard/db/dbtest"
	"github.com/fleetboard/fleetboard/internal/accounts/accountstest"
	"github.com/fleetboard/fleetboard/internal/accounts/workspaces"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

func TestMakeAWorkspace(t *testing.T) {
	s := accountstest.StartedWithOwner(t)
	conn := dbtest.Owner(t, s.DB)
	admin := s.Join(t, "Cem", tenancy.RoleAdmin)
	w, err := s.Workspaces.Create(t.Context(), admin, " Kestrel Labs ")
	if err != nil || w.Name != "Kestrel Labs" || w.Slug != "kestrel-labs" || w.Role != tenancy.RoleOwner {
		t.Fatalf("made %+v, %v", w, err)
	}
	list, err := s.Workspaces.Of(t.Context(), admin.Account)
	if err != nil || len(list) != 2 || list[1] != w {
		t.Errorf("he is in %+v, %v", list, err)
	}
	who, err := s.Workspaces.Person(t.Context(), admin.Account, w.ID)
	if err != nil || who.Workspace != w.ID || who.Role != tenancy.RoleOwner {
		t.Errorf("there he is %+v, %v", who, err)
	}
	for sql, want := range map[string]int{
		"SELECT count(*) FROM product WHERE workspace_id = $1 AND name = 'default'":                                               1,
		"SELECT next FROM job_number WHERE workspace_id = $1":                                                                     1,
		"SELECT count(*) FROM membership WHERE workspace_id = $1":                                                                 1,
		"SELECT count(*) FROM event WHERE workspace_id = $1 AND type = 'workspace.created' AND payload->>'slug' = 'kestrel-labs'": 1,
	} {
		if n := accountstest.Count(t, conn, sql, w.ID); n != want {
			t.Errorf("%d: %s", n, sql)
		}
	}
	if again, err := s.Workspaces.Create(t.Context(), admin, "kestrel labs"); err != nil || again.Slug != "kestrel-labs-2" {
		t.Errorf("the same name again: %+v, %v", again, err)
	}
	_, err = s.Workspaces.Create(t.Context(), s.Join(t, "Dee", tenancy.RoleMember), "Mine")
	accountstest.WantFault(t, err, fault.Forbidden)
	for _, name := range []string{"", "  ", "a\nb", strings.Repeat("x", 101), "a\x00b"} {
		_, err = s.Workspaces.Create(t.Context(), admin, name)
		accountstest.WantFault(t, err, fault.Validation)
	}
}

// Ten people take one name at the same moment: ten workspaces, ten slugs.
func TestOneNameAtOneMoment(t *testing.T) {
	s := accountstest.StartedWithOwner(t)
	owner, ctx := s.Owner(t), accountstest.Timeout(t)
	var all sync.WaitGroup
	for range 10 {
		all.Go(func() {
			if _, err := s.Workspaces.Create(ctx, owner, "Ops"); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if n := accountstest.Count(t, dbtest.Owner(t, s.DB), "SELECT count(DISTINCT slug) FROM workspace WHERE name = 'Ops' AND slug ~ '^ops(-[0-9]+)?$'"); n != 10 {
		t.Errorf("%d slugs", n)
	}
}

func TestRenameTheWorkspace(t *testing.T) {
	s := accountstest.StartedWithOwner(t)
	owner, conn := s.Owner(t), dbtest.Owner(t, s.DB)
	for range 2 { // the second changes nothing
		if err := s.Workspaces.Rename(t.Context(), owner, " Kestrel Labs "); err != nil {
			t.Fatal(err)
		}
	}
	about, err := s.Workspaces.Facts(t.Context(), s.Join(t, "Vic", tenancy.RoleViewer))
	if err != nil || about.Name != "Kestrel Labs" || about.Slug != workspaces.FirstSlug || about.Since.IsZero() {
		t.Errorf("it is %+v, %v", about, err)
	}
	if n := accountstest.Count(t, conn, `SELECT count(*) FROM event WHERE type = 'workspace.renamed' AND changes->0->>'old' = 'Default' AND changes->0->>'new' = 'Kestrel Labs'`); n != 1 {
		t.Errorf("%d events", n)
	}
	accountstest.WantFault(t, s.Workspaces.Rename(t.Context(), s.Join(t, "Cem", tenancy.RoleAdmin), "Mine"), fault.Forbidden)
	accountstest.WantFault(t, s.Workspaces.Rename(t.Context(), owner, ""), fault.Validation)
	_, err = s.Workspaces.Facts(t.Context(), tenancy.Principal{Kind: tenancy.KindEnrolment, Workspace: s.First.Workspace})
	accountstest.WantFault(t, err, fault.Forbidden)
	if n := accountstest.Count(t, conn, "SELECT count(*) FROM workspace WHERE name = 'Mine'"); n != 0 {
		t.Error("it was renamed")
	}
	// Nobody makes workspaces without end.
	for range workspaces.MaxPerPerson {
		w := ids.New()
		accountstest.Exec(t, conn, "INSERT INTO workspace (id, slug, name) VALUES ($1::uuid, 'w-' || $1::text, 'Many')", w.String())
		accountstest.Exec(t, conn, "INSERT INTO membership (workspace_id, account_id, role) VALUES ($1, $2, 'viewer')", w, owner.Account)
	}
	_, err = s.Workspaces.Create(t.Context(), owner, "One more")
	accountstest.WantFault(t, err, fault.InUse)
}
