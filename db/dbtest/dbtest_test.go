package dbtest_test

import (
	"os"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbtest"
	"github.com/fleetboard/fleetboard/internal/ids"
)

func TestDatabasesAreSeparateAndDropped(t *testing.T) {
	var names [2]string
	t.Run("two databases", func(t *testing.T) {
		var g errgroup.Group
		for i := range names {
			d := dbtest.New(t)
			owner := dbtest.Owner(t, d)
			names[i] = owner.Config().Database
			g.Go(func() error {
				return d.In(t.Context(), db.None, func(tx db.Tx) error {
					_, err := tx.Exec(t.Context(), "INSERT INTO account (id, email, name) VALUES ($1, 'ada@example.com', 'Ada')", ids.New())
					return err
				})
			})
		}
		if err := g.Wait(); err != nil {
			t.Fatal(err)
		}
	})
	owner := dbtest.Owner(t, dbtest.New(t))
	var left int
	err := owner.QueryRow(t.Context(), "SELECT count(*) FROM pg_database WHERE datname = ANY($1)", names[:]).Scan(&left)
	if err != nil || left != 0 {
		t.Errorf("%d databases were left (%v)", left, err)
	}
}

// A policy that is not tested as the application is not tested.
func TestTheApplicationsRoleHasNoWayAroundPolicies(t *testing.T) {
	d := dbtest.New(t)
	var super, bypass, owns bool
	err := d.In(t.Context(), db.None, func(tx db.Tx) error {
		return tx.QueryRow(t.Context(), `SELECT rolsuper, rolbypassrls,
			EXISTS (SELECT FROM pg_class WHERE relowner = r.oid) FROM pg_roles r WHERE rolname = current_user`).
			Scan(&super, &bypass, &owns)
	})
	if err != nil || super || bypass || owns {
		t.Errorf("superuser %t, bypasses policies %t, owns tables %t (%v); want none", super, bypass, owns, err)
	}
}

func TestTheServerIsOurs(t *testing.T) {
	if os.Getenv("FLEETBOARD_TEST_DATABASE_URL") != "" {
		return // the caller names the server and knows whose it is
	}
	var fsync, commit, connections string
	owner := dbtest.Owner(t, dbtest.New(t))
	err := owner.QueryRow(t.Context(), "SELECT current_setting('fsync'), current_setting('synchronous_commit'), current_setting('max_connections')").
		Scan(&fsync, &commit, &connections)
	if err != nil || fsync != "off" || commit != "on" || connections != "300" {
		t.Errorf("fsync %s, synchronous_commit %s, max_connections %s (%v)", fsync, commit, connections, err)
	}
}
