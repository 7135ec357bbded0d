package db_test

import (
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbtest"
	"github.com/fleetboard/fleetboard/internal/ids"
)

func TestMigrateAgainAndAtOnce(t *testing.T) {
	address := dbtest.URL(t)
	var g errgroup.Group
	for range 3 {
		g.Go(func() error { return db.Migrate(t.Context(), address) })
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
}

// A login of the application's kind sees what the application sees, with or
// without inheriting the rights of both roles.
func TestALoginOfTheApplicationsKind(t *testing.T) {
	for _, attribute := range []string{"INHERIT", "NOINHERIT"} {
		t.Run(attribute, func(t *testing.T) {
			plain := dbtest.New(t)
			owner := dbtest.Owner(t, plain)
			ws := addWorkspace(t, plain, "first")
			login := "fleetboard_login_" + strings.ReplaceAll(ids.New().String(), "-", "")
			for _, s := range []string{
				"CREATE ROLE " + login + " LOGIN " + attribute,
				"GRANT fleetboard_app, fleetboard_system TO " + login,
			} {
				if _, err := owner.Exec(t.Context(), s); err != nil {
					t.Fatal(err)
				}
			}
			address := owner.Config().ConnString()
			d, err := db.Open(t.Context(), db.Options{
				OwnerURL: address,
				AppURL:   strings.Replace(address, owner.Config().User+"@", login+"@", 1),
			})
			if err != nil {
				t.Fatal(err)
			}
			defer d.Close()
			n, look := count(t, "product")
			if err := d.In(t.Context(), db.None, look); err != nil || *n != 0 {
				t.Errorf("in no workspace it sees %d products (%v), want 0", *n, err)
			}
			if err := d.In(t.Context(), db.Workspace(ws), look); err != nil || *n != 1 {
				t.Errorf("in the workspace it sees %d products (%v), want 1", *n, err)
			}
			n, look = count(t, "workspace")
			if err := d.In(t.Context(), db.System, look); err != nil || *n != 1 {
				t.Errorf("the system sees %d workspaces (%v), want 1", *n, err)
			}
			d.Close()
			if _, err := owner.Exec(t.Context(), "DROP ROLE "+login); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestOpenNamesWhatIsWrong(t *testing.T) {
	for _, c := range []struct{ url, want string }{
		{"postgres://u:hunter2@127.0.0.1:1/none?sslmode=disable", "does not answer"},
		{"postgres://u:hunter2@:not-a-port/none", "cannot be read"},
	} {
		_, err := db.Open(t.Context(), db.Options{OwnerURL: c.url})
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v, want %q and no password", c.url, err, c.want)
		}
	}
}

func TestListenIsAConnectionOfItsOwn(t *testing.T) {
	d := dbtest.New(t)
	conn, err := d.Listen(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(t.Context()) }()
	var role string
	if err := conn.QueryRow(t.Context(), "SELECT current_user::text").Scan(&role); err != nil || role != "fleetboard_app" {
		t.Errorf("it runs as %s (%v), want the application's role", role, err)
	}
	if acquired, _, _ := d.Stat(); acquired != 0 {
		t.Errorf("it holds %d connections of the pool", acquired)
	}
}
