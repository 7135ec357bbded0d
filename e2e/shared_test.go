package e2e

import (
	"context"
	"encoding/base64"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/caarlos0/env/v11"
	"github.com/jackc/pgx/v5"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/db/dbtest"
	"github.com/fleetboard/fleetboard/e2e/processtest"
	"github.com/fleetboard/fleetboard/e2e/transporttest"
	"github.com/fleetboard/fleetboard/internal/accounts/accountstest"
	"github.com/fleetboard/fleetboard/internal/accounts/passwords"
	"github.com/fleetboard/fleetboard/internal/accounts/setup"
	"github.com/fleetboard/fleetboard/internal/accounts/tokens"
	"github.com/fleetboard/fleetboard/internal/accounts/workspaces"
	"github.com/fleetboard/fleetboard/internal/app"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// shared is the server of all tests that need none of their own, in this process: each of them
// has a workspace there. Password hashes are cheap, and requests are not limited.
type shared struct {
	app      *app.App
	logs     processtest.Output
	database string
	dir      string
	drop     func() error
	hash     string // of ownerPassword
}

// theShared is started by the first test that needs it, and ended by prepare.
var theShared = sync.OnceValues(startShared)

var sharedStarted bool

func startShared() (s *shared, err error) {
	sharedStarted = true
	s = &shared{}
	ctx := context.Background()
	if s.database, s.drop, err = dbtest.Create(ctx); err != nil {
		return nil, err
	}
	if s.dir, err = os.MkdirTemp("", "fleetboard-e2e-shared-"); err != nil {
		return nil, err
	}
	cfg, err := app.LoadConfig(env.ToMap(append(transporttest.Environ(), "DATABASE_URL="+s.database, "FLEETBOARD_DATA_DIR="+s.dir,
		"FLEETBOARD_LISTEN=127.0.0.1:0", "FLEETBOARD_RATE_LIMIT=0",
		"FLEETBOARD_SECRET_KEY="+base64.StdEncoding.EncodeToString(accountstest.Key(7)))))
	if err != nil {
		return nil, err
	}
	cfg.HashCost = accountstest.Cheap
	if s.app, err = app.Start(ctx, cfg, slog.New(slog.NewTextHandler(&s.logs, nil))); err != nil {
		return nil, err
	}
	s.hash, err = s.app.Services().Accounts.Hashes.Hash(ctx, passwords.Asker{Name: "tests", Known: true}, ownerPassword)
	return s, err
}

// endShared ends the shared server where a test has started it.
func endShared() {
	if !sharedStarted {
		return
	}
	if s, err := theShared(); err == nil {
		_ = s.app.Close()
		_ = s.drop()
		_ = os.RemoveAll(s.dir)
	}
}

// startServer gives the test a workspace of the shared server, with an owner who can log in and
// the tokens that a first start leaves in a data directory.
func startServer(t *testing.T) *server {
	t.Helper()
	one, err := theShared()
	if err != nil {
		t.Fatalf("the shared server: %v", err)
	}
	ctx, people := t.Context(), one.app.Services().Accounts
	who := tenancy.Principal{Kind: tenancy.KindPerson, Role: tenancy.RoleOwner, Account: ids.New(), Name: setup.OwnerName}
	s := &server{t: t, url: one.app.URL(), email: fmt.Sprintf("mara-%s@kestrel.example", who.Account), dataDir: t.TempDir(), logs: &one.logs}
	conn, err := pgx.Connect(ctx, one.database)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	dbfactory.Account(t, conn, who.Account, s.email, who.Name)
	if _, err := conn.Exec(ctx, "UPDATE account SET password_hash = $2 WHERE id = $1", who.Account, one.hash); err != nil {
		t.Fatal(err)
	}
	w, err := people.Workspaces.Create(ctx, who, workspaces.FirstName)
	if err != nil {
		t.Fatal(err)
	}
	who.Workspace = w.ID
	for name, token := range map[string]tokens.NewToken{
		setup.OwnerTokenFile: {Kind: tenancy.KindPerson, Name: setup.OwnerTokenFile},
		setup.EnrolmentTokenFile: {Kind: tenancy.KindEnrolment, Name: setup.EnrolmentTokenFile, MaySubmit: true,
			Roles: []string{tenancy.AgentWorker, tenancy.AgentOrchestrator, tenancy.AgentReviewer}},
	} {
		plain, err := people.Tokens.Issue(ctx, who, token)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(s.dataDir, name), []byte(plain), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return s
}
