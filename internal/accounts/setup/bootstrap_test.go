package setup_test

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/fleetboard/fleetboard/db/dbtest"
	"github.com/fleetboard/fleetboard/internal/accounts/accountstest"
	"github.com/fleetboard/fleetboard/internal/accounts/devices"
	"github.com/fleetboard/fleetboard/internal/accounts/secrets"
	"github.com/fleetboard/fleetboard/internal/accounts/setup"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/tenancy"
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
		if n := accountstest.Count(t, conn, sql); n != want {
			t.Errorf("%s = %d, want %d", sql, n, want)
		}
	}
}

func again(t *testing.T, s accountstest.Setting) setup.Bootstrap {
	t.Helper()
	b, err := s.Setup.Bootstrap(t.Context(), setup.BootstrapInput{DataDir: s.Dir})
	if err != nil {
		t.Fatalf("bootstrap again: %v", err)
	}
	return b
}

func TestBootstrap(t *testing.T) {
	s := accountstest.Started(t)
	wantOneOfEach(t, dbtest.Owner(t, s.DB))
	if s.First.SetupToken == "" {
		t.Error("no set-up link for an owner without a password")
	}
	if who := s.Owner(t); who.Role != tenancy.RoleOwner || who.Workspace != s.First.Workspace {
		t.Errorf("owner-token is of %+v", who)
	}
	if who, err := s.Tokens.Bearer(t.Context(), s.File(t, setup.EnrolmentTokenFile)); err != nil || who.Kind != tenancy.KindEnrolment {
		t.Errorf("enrolment-token is of %+v, %v", who, err)
	}
	for _, name := range []string{setup.OwnerTokenFile, setup.EnrolmentTokenFile} {
		info, err := os.Stat(filepath.Join(s.Dir, name))
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: mode %v, %v", name, info.Mode(), err)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(s.Dir, ".*")); len(left) != 0 {
		t.Errorf("left over: %v", left)
	}
}

func TestBootstrapAgain(t *testing.T) {
	s := accountstest.Started(t)
	owner, enrolment := s.File(t, setup.OwnerTokenFile), s.File(t, setup.EnrolmentTokenFile)
	second := again(t, s)
	wantOneOfEach(t, dbtest.Owner(t, s.DB))
	if s.File(t, setup.OwnerTokenFile) != owner || s.File(t, setup.EnrolmentTokenFile) != enrolment {
		t.Error("a second start changed tokens that work")
	}
	if ok, _ := s.Setup.SetUpAccount(t.Context(), s.First.SetupToken); ok {
		t.Error("the link of the first start still works")
	}
	if _, err := s.Setup.SetUp(t.Context(), second.SetupToken, setup.Owner{Name: "Ada", Email: accountstest.Email, Password: accountstest.Password}); err != nil {
		t.Fatal(err)
	}
	if third := again(t, s); third.SetupToken != "" {
		t.Error("a set-up link for an owner who is set up")
	}
	// The environment does not change what a person chose.
	_, err := s.Setup.Bootstrap(t.Context(), setup.BootstrapInput{DataDir: s.Dir, AdminEmail: "eve@example.org", AdminPassword: "another password"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.LogIns.LogIn(t.Context(), accountstest.Email, accountstest.Password, devices.Origin{Address: ""}); err != nil {
		t.Errorf("the owner's own password: %v", err)
	}
}

func TestBootstrapWithAdmin(t *testing.T) {
	s := accountstest.StartedWithOwner(t)
	if s.First.SetupToken != "" {
		t.Error("a set-up link beside a password")
	}
	if _, err := s.LogIns.LogIn(t.Context(), accountstest.Email, accountstest.Password, devices.Origin{Address: ""}); err != nil {
		t.Error(err)
	}
}

func TestBootstrapAdminRefused(t *testing.T) {
	s := accountstest.Started(t)
	for _, in := range []setup.BootstrapInput{
		{AdminEmail: accountstest.Email, AdminPassword: "short"},
		{AdminEmail: accountstest.Email},
		{AdminPassword: accountstest.Password},
		{AdminEmail: "ada", AdminPassword: accountstest.Password},
	} {
		in.DataDir = s.Dir
		_, err := s.Setup.Bootstrap(t.Context(), in)
		if f := accountstest.Refusal(t, err, fault.Validation); !strings.Contains(f.Message, "FLEETBOARD_ADMIN_") {
			t.Errorf("the message names no variable: %q", f.Message)
		}
	}
}

func TestBootstrapAtOnce(t *testing.T) {
	d, dir := dbtest.New(t), t.TempDir()
	ctx := accountstest.Timeout(t)
	const processes = 4
	var wg sync.WaitGroup
	tokens := make(chan string, processes)
	for range processes {
		wg.Go(func() {
			b, err := accountstest.NewService(d).Setup.Bootstrap(ctx, setup.BootstrapInput{DataDir: dir})
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
	s := accountstest.Setting{Parts: accountstest.NewService(d), DB: d, Dir: dir}
	s.Owner(t)
	if _, err := s.Tokens.Bearer(ctx, s.File(t, setup.EnrolmentTokenFile)); err != nil {
		t.Error(err)
	}
	valid := 0
	for token := range tokens {
		if ok, _ := s.Setup.SetUpAccount(ctx, token); ok {
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
		"never saved":    func(t *testing.T, path string) { write(t, path, secrets.New(secrets.Person)) },
		"of other kinds": func(t *testing.T, path string) { write(t, path, secrets.New(secrets.Enrolment)) },
	}
	for name, change := range damage {
		t.Run(name, func(t *testing.T) {
			s := accountstest.Started(t)
			old := s.File(t, setup.OwnerTokenFile)
			change(t, filepath.Join(s.Dir, setup.OwnerTokenFile))
			again(t, s)
			s.Owner(t)
			_, err := s.Tokens.Bearer(t.Context(), old)
			accountstest.WantFault(t, err, fault.TokenRevoked)
			wantOneOfEach(t, dbtest.Owner(t, s.DB))
		})
	}
}

func TestBootstrapRevokedToken(t *testing.T) {
	s := accountstest.Started(t)
	owner := s.Owner(t)
	if err := s.Tokens.Revoke(t.Context(), owner, owner.Token); err != nil {
		t.Fatal(err)
	}
	again(t, s)
	if s.Owner(t).Token == owner.Token {
		t.Error("the file still holds the revoked token")
	}
}

// Two servers with directories of their own share a database.
func TestBootstrapOtherDirectory(t *testing.T) {
	s := accountstest.Started(t)
	second := s
	second.Dir = t.TempDir()
	again(t, second)
	if s.Owner(t).Token == second.Owner(t).Token {
		t.Error("both directories hold one token")
	}
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}
