package main

import (
	"context"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/fleetboard/fleetboard/db/dbtest"
	"github.com/fleetboard/fleetboard/internal/ids"
)

// tenant is a login of a database server that is no superuser, with databases of its own.
type tenant struct {
	t     *testing.T
	super string // the address of a superuser
	boss  *pgx.Conn
	name  string
}

func newTenant(t *testing.T) *tenant {
	t.Helper()
	super := dbtest.URL(t)
	boss, err := pgx.Connect(t.Context(), super)
	if err != nil {
		t.Fatal(err)
	}
	h := &tenant{t, super, boss, "tenant_" + strings.ReplaceAll(ids.New().String(), "-", "")}
	h.do("CREATE ROLE " + h.name + " LOGIN CREATEROLE PASSWORD 'x'")
	h.do("GRANT fleetboard_app, fleetboard_system TO " + h.name + " WITH ADMIN OPTION")
	t.Cleanup(func() {
		for _, suffix := range []string{"", "_restored"} {
			_, _ = boss.Exec(context.Background(), "DROP DATABASE IF EXISTS "+h.name+suffix+" WITH (FORCE)")
		}
		if _, err := boss.Exec(context.Background(), "DROP ROLE "+h.name); err != nil {
			t.Error(err)
		}
		_ = boss.Close(context.Background())
	})
	return h
}

func (h *tenant) do(sql string) {
	h.t.Helper()
	if _, err := h.boss.Exec(h.t.Context(), sql); err != nil {
		h.t.Fatalf("%s: %v", sql, err)
	}
}

// database makes an empty one and returns its address for the login and for a superuser.
func (h *tenant) database(suffix string) (owner, super string) {
	h.t.Helper()
	h.do("CREATE DATABASE " + h.name + suffix + " OWNER " + h.name)
	u, err := url.Parse(h.super)
	if err != nil {
		h.t.Fatal(err)
	}
	u.Path = "/" + h.name + suffix
	super = u.String()
	query := u.Query()
	u.User = url.UserPassword(h.name, "x")
	query.Del("user")
	u.RawQuery = query.Encode()
	return u.String(), super
}

// The database of another server is dumped by a login that policies do not bind, and restored into an empty
// database; one whose rows they hide is refused, and never dumped in part.
func TestADumpIsRestored(t *testing.T) {
	t.Parallel()
	h, m := newTenant(t), newMachine(t)
	owner, super := h.database("")
	env := map[string]string{"DATABASE_URL": owner}
	s := m.serveOver(super, env)
	s.create("first")
	s.create("second")
	store := m.mkdir("store")
	m.run(env, "backup", store).wants(t, 1, "ALTER ROLE", "BYPASSRLS")
	if left := files(t, store); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
	h.do("ALTER ROLE " + h.name + " BYPASSRLS")
	m.run(env, "backup", store).wants(t, 0, "a dump of PostgreSQL", "as of its begin only")
	h.do("ALTER ROLE " + h.name + " NOBYPASSRLS")

	to, toSuper := h.database("_restored")
	empty := map[string]string{"DATABASE_URL": to, "FLEETBOARD_DATA_DIR": m.path("restored")}
	m.run(map[string]string{"FLEETBOARD_DATA_DIR": m.path("restored")}, "restore", store).wants(t, 2, "name an empty database for it in DATABASE_URL")
	m.run(env, "restore", store).wants(t, 2, "the database is not empty")
	m.run(map[string]string{"DATABASE_URL": toSuper}, "restore", store).wants(t, 2, "the dump belongs to the login "+h.name)
	m.run(empty, "restore", store, "--at", "2026-03-01T12:00:00Z").wants(t, 2, "")
	m.runUntil("audit", empty, "restore", store).wants(t, 1, "nothing was restored")
	m.run(empty, "serve").wants(t, 1, "was not finished: run fleetboard restore again")
	m.run(empty, "restore", store).wants(t, 0, "Restored the backup", "Nothing is missing", "     0  log", "     0  state")
	restored := m.serveOver(toSuper, empty)
	restored.create("third")
	if got := restored.titles(); got != "first second third" {
		t.Errorf("restored are %q", got)
	}
	m.run(empty, "audit").wants(t, 0)
	m.run(env, "doctor", store, "--try-restore", "--in", m.disk).wants(t, 0, "the newest of 1 ended", "Restored the backup", "     0  state")
	if left, _ := filepath.Glob(m.path("fleetboard-trial-*")); len(left) > 0 {
		t.Errorf("the trial left %q", left)
	}
}
