package accounts

import (
	"strings"
	"sync"
	"testing"

	"fleetboard/db/dbtest"
	"fleetboard/internal/fault"
	"fleetboard/internal/ids"
	"fleetboard/internal/tenancy"
)

func TestSlugOfAName(t *testing.T) {
	for name, want := range map[string]string{
		"Kestrel Labs": "kestrel-labs", "  --Ops & Tools!! ": "ops-tools", "Žluťoučký kůň": "lu-ou-k-k",
		"日本": "workspace", "---": "workspace", "2 fast": "2-fast", "A": "a",
		strings.Repeat("ab ", 60): strings.TrimSuffix(strings.Repeat("ab-", 17), "-")[:maxSlug],
	} {
		if got := slugOf(name); got != want {
			t.Errorf("%q becomes %q, want %q", name, got, want)
		}
	}
	for n, want := range map[int]string{1: "ops", 2: "ops-2", slugTries: "ops-20"} {
		if got := numberedSlug("ops", n); got != want {
			t.Errorf("try %d is %q, want %q", n, got, want)
		}
	}
	if a, b := numberedSlug("ops", slugTries+1), numberedSlug("ops", slugTries+1); a == b || len(a) > 63 {
		t.Errorf("after many tries: %s, %s", a, b)
	}
}

func TestMakeAWorkspace(t *testing.T) {
	s := startedWithOwner(t)
	conn := dbtest.Owner(t, s.db)
	admin := s.join(t, "Cem", tenancy.RoleAdmin)
	w, err := s.CreateWorkspace(t.Context(), admin, " Kestrel Labs ")
	if err != nil || w.Name != "Kestrel Labs" || w.Slug != "kestrel-labs" || w.Role != tenancy.RoleOwner {
		t.Fatalf("made %+v, %v", w, err)
	}
	list, err := s.Workspaces(t.Context(), admin.Account)
	if err != nil || len(list) != 2 || list[1] != w {
		t.Errorf("he is in %+v, %v", list, err)
	}
	who, err := s.Person(t.Context(), admin.Account, w.ID)
	if err != nil || who.Workspace != w.ID || who.Role != tenancy.RoleOwner {
		t.Errorf("there he is %+v, %v", who, err)
	}
	for sql, want := range map[string]int{
		"SELECT count(*) FROM product WHERE workspace_id = $1 AND name = 'default'":                                               1,
		"SELECT next FROM job_number WHERE workspace_id = $1":                                                                     1,
		"SELECT count(*) FROM membership WHERE workspace_id = $1":                                                                 1,
		"SELECT count(*) FROM event WHERE workspace_id = $1 AND type = 'workspace.created' AND payload->>'slug' = 'kestrel-labs'": 1,
	} {
		if n := count(t, conn, sql, w.ID); n != want {
			t.Errorf("%d: %s", n, sql)
		}
	}
	if again, err := s.CreateWorkspace(t.Context(), admin, "kestrel labs"); err != nil || again.Slug != "kestrel-labs-2" {
		t.Errorf("the same name again: %+v, %v", again, err)
	}
	_, err = s.CreateWorkspace(t.Context(), s.join(t, "Dee", tenancy.RoleMember), "Mine")
	wantFault(t, err, fault.Forbidden)
	for _, name := range []string{"", "  ", "a\nb", strings.Repeat("x", 101), "a\x00b"} {
		_, err = s.CreateWorkspace(t.Context(), admin, name)
		wantFault(t, err, fault.Validation)
	}
}

// Ten people take one name at the same moment: ten workspaces, ten slugs.
func TestOneNameAtOneMoment(t *testing.T) {
	s := startedWithOwner(t)
	owner, ctx := s.owner(t), timeout(t)
	var all sync.WaitGroup
	for range 10 {
		all.Go(func() {
			if _, err := s.CreateWorkspace(ctx, owner, "Ops"); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if n := count(t, dbtest.Owner(t, s.db), "SELECT count(DISTINCT slug) FROM workspace WHERE name = 'Ops' AND slug ~ '^ops(-[0-9]+)?$'"); n != 10 {
		t.Errorf("%d slugs", n)
	}
}

func TestRenameTheWorkspace(t *testing.T) {
	s := startedWithOwner(t)
	owner, conn := s.owner(t), dbtest.Owner(t, s.db)
	for range 2 { // the second changes nothing
		if err := s.RenameWorkspace(t.Context(), owner, " Kestrel Labs "); err != nil {
			t.Fatal(err)
		}
	}
	about, err := s.AboutWorkspace(t.Context(), s.join(t, "Vic", tenancy.RoleViewer))
	if err != nil || about.Name != "Kestrel Labs" || about.Slug != FirstSlug || about.Since.IsZero() {
		t.Errorf("it is %+v, %v", about, err)
	}
	if n := count(t, conn, `SELECT count(*) FROM event WHERE type = 'workspace.renamed' AND changes->0->>'old' = 'Default' AND changes->0->>'new' = 'Kestrel Labs'`); n != 1 {
		t.Errorf("%d events", n)
	}
	wantFault(t, s.RenameWorkspace(t.Context(), s.join(t, "Cem", tenancy.RoleAdmin), "Mine"), fault.Forbidden)
	wantFault(t, s.RenameWorkspace(t.Context(), owner, ""), fault.Validation)
	_, err = s.AboutWorkspace(t.Context(), tenancy.Principal{Kind: tenancy.KindEnrolment, Workspace: s.first.Workspace})
	wantFault(t, err, fault.Forbidden)
	if n := count(t, conn, "SELECT count(*) FROM workspace WHERE name = 'Mine'"); n != 0 {
		t.Error("it was renamed")
	}
	// Nobody makes workspaces without end.
	for range maxWorkspaces {
		w := ids.New()
		exec(t, conn, "INSERT INTO workspace (id, slug, name) VALUES ($1::uuid, 'w-' || $1::text, 'Many')", w.String())
		exec(t, conn, "INSERT INTO membership (workspace_id, account_id, role) VALUES ($1, $2, 'viewer')", w, owner.Account)
	}
	_, err = s.CreateWorkspace(t.Context(), owner, "One more")
	wantFault(t, err, fault.InUse)
}
