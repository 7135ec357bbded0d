package accounts

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"fleetboard/db/dbtest"
	"fleetboard/internal/fault"
	"fleetboard/internal/tenancy"
)

// wantOneOfEach checks what exists after any number of starts on one directory.
func wantOneOfEach(t *testing.T, conn *pgx.Conn) {
	t.Helper()
	for sql, want := range map[string]int{
		"SELECT count(*) FROM workspace WHERE slug = 'default' AND name = 'Default'":        1,
		"SELECT count(*) FROM workspace":                                                    1,
		"SELECT count(*) FROM job_number":                                                   1,
		"SELECT count(*) FROM product WHERE name = 'default'":                               1,
		"SELECT count(*) FROM account":                                                      1,
		"SELECT count(*) FROM membership WHERE role = 'owner'":                              1,
		"SELECT count(*) FROM access_token WHERE kind = 'person' AND revoked_at IS NULL":    1,
		"SELECT count(*) FROM access_token WHERE kind = 'enrolment' AND revoked_at IS NULL": 1,
	} {
		if n := count(t, conn, sql); n != want {
			t.Errorf("%s = %d, want %d", sql, n, want)
		}
	}
}

func (s setting) again(t *testing.T) Bootstrap {
	t.Helper()
	b, err := s.Bootstrap(t.Context(), BootstrapInput{DataDir: s.dir})
	if err != nil {
		t.Fatalf("bootstrap again: %v", err)
	}
	return b
}

func TestBootstrap(t *testing.T) {
	s := started(t)
	wantOneOfEach(t, dbtest.Owner(t, s.db))
	if s.first.SetupToken == "" {
		t.Error("no set-up link for an owner without a password")
	}
	if who := s.owner(t); who.Role != tenancy.RoleOwner || who.Workspace != s.first.Workspace {
		t.Errorf("owner-token is of %+v", who)
	}
	if who, err := s.Bearer(t.Context(), s.file(t, enrolmentTokenFile)); err != nil || who.Kind != tenancy.KindEnrolment {
		t.Errorf("enrolment-token is of %+v, %v", who, err)
	}
	for _, name := range []string{ownerTokenFile, enrolmentTokenFile} {
		info, err := os.Stat(filepath.Join(s.dir, name))
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: mode %v, %v", name, info.Mode(), err)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(s.dir, ".*")); len(left) != 0 {
		t.Errorf("left over: %v", left)
	}
}

func TestBootstrapAgain(t *testing.T) {
	s := started(t)
	owner, enrolment := s.file(t, ownerTokenFile), s.file(t, enrolmentTokenFile)
	second := s.again(t)
	wantOneOfEach(t, dbtest.Owner(t, s.db))
	if s.file(t, ownerTokenFile) != owner || s.file(t, enrolmentTokenFile) != enrolment {
		t.Error("a second start changed tokens that work")
	}
	if ok, _ := s.SetUpAccount(t.Context(), s.first.SetupToken); ok {
		t.Error("the link of the first start still works")
	}
	if _, err := s.SetUp(t.Context(), second.SetupToken, "Ada", testEmail, testPassword); err != nil {
		t.Fatal(err)
	}
	if third := s.again(t); third.SetupToken != "" {
		t.Error("a set-up link for an owner who is set up")
	}
	// The environment does not change what a person chose.
	_, err := s.Bootstrap(t.Context(), BootstrapInput{DataDir: s.dir, AdminEmail: "eve@example.org", AdminPassword: "another password"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.LogIn(t.Context(), testEmail, testPassword, Origin{Address: ""}); err != nil {
		t.Errorf("the owner's own password: %v", err)
	}
}

func TestBootstrapWithAdmin(t *testing.T) {
	s := startedWithOwner(t)
	if s.first.SetupToken != "" {
		t.Error("a set-up link beside a password")
	}
	if _, err := s.LogIn(t.Context(), testEmail, testPassword, Origin{Address: ""}); err != nil {
		t.Error(err)
	}
}

func TestBootstrapAdminRefused(t *testing.T) {
	s := started(t)
	for _, in := range []BootstrapInput{
		{AdminEmail: testEmail, AdminPassword: "short"},
		{AdminEmail: testEmail},
		{AdminPassword: testPassword},
		{AdminEmail: "ada", AdminPassword: testPassword},
	} {
		in.DataDir = s.dir
		_, err := s.Bootstrap(t.Context(), in)
		if f := refusal(t, err, fault.Validation); !strings.Contains(f.Message, "FLEETBOARD_ADMIN_") {
			t.Errorf("the message names no variable: %q", f.Message)
		}
	}
}

func TestBootstrapAtOnce(t *testing.T) {
	d, dir := dbtest.New(t), t.TempDir()
	ctx := timeout(t)
	const processes = 4
	var wg sync.WaitGroup
	tokens := make(chan string, processes)
	for range processes {
		wg.Go(func() {
			b, err := newService(d).Bootstrap(ctx, BootstrapInput{DataDir: dir})
			if err != nil {
				t.Error(err)
			}
			tokens <- b.SetupToken
		})
	}
	wg.Wait()
	close(tokens)
	conn := dbtest.Owner(t, d)
	wantOneOfEach(t, conn)
	s := setting{Service: newService(d), db: d, dir: dir}
	s.owner(t)
	if _, err := s.Bearer(ctx, s.file(t, enrolmentTokenFile)); err != nil {
		t.Error(err)
	}
	valid := 0
	for token := range tokens {
		if ok, _ := s.SetUpAccount(ctx, token); ok {
			valid++
		}
	}
	if valid != 1 {
		t.Errorf("%d set-up links work, want 1", valid)
	}
}

func TestBootstrapLostFiles(t *testing.T) {
	damage := map[string]func(t *testing.T, path string){
		"missing": func(t *testing.T, path string) {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
		},
		"empty":          func(t *testing.T, path string) { write(t, path, "") },
		"cut":            func(t *testing.T, path string) { write(t, path, "fb_person_abc") },
		"never saved":    func(t *testing.T, path string) { write(t, path, newSecret(secretPerson)) },
		"of other kinds": func(t *testing.T, path string) { write(t, path, newSecret(secretEnrolment)) },
	}
	for name, change := range damage {
		t.Run(name, func(t *testing.T) {
			s := started(t)
			old := s.file(t, ownerTokenFile)
			change(t, filepath.Join(s.dir, ownerTokenFile))
			s.again(t)
			s.owner(t)
			_, err := s.Bearer(t.Context(), old)
			wantFault(t, err, fault.TokenRevoked)
			wantOneOfEach(t, dbtest.Owner(t, s.db))
		})
	}
}

func TestBootstrapRevokedToken(t *testing.T) {
	s := started(t)
	owner := s.owner(t)
	if err := s.RevokeToken(t.Context(), owner, owner.Token); err != nil {
		t.Fatal(err)
	}
	s.again(t)
	if s.owner(t).Token == owner.Token {
		t.Error("the file still holds the revoked token")
	}
}

// Two servers with directories of their own share a database.
func TestBootstrapOtherDirectory(t *testing.T) {
	s := started(t)
	second := s
	second.dir = t.TempDir()
	second.again(t)
	if s.owner(t).Token == second.owner(t).Token {
		t.Error("both directories hold one token")
	}
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}
