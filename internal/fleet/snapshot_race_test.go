package fleet_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/db/dbtest"
	"github.com/fleetboard/fleetboard/internal/fleet"
	"github.com/fleetboard/fleetboard/internal/ids"
)

// interrupted is a transaction in which something happens elsewhere before its
// n-th query.
type interrupted struct {
	db.Tx
	n    int
	what func()
}

// Query runs the query, after what was to happen.
func (i *interrupted) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	if i.n == 0 {
		i.what()
	}
	i.n--
	return i.Tx.Query(ctx, sql, args...)
}

// A factory that joins while the fleet is read, with an agent, stands in the
// picture or does not; its agent stands nowhere else.
func TestAFactoryMayJoinWhileTheFleetIsRead(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	for already := range 2 {
		for before := range 4 {
			workspace := dbfactory.Workspace(t, d)
			for n := range already {
				join(t, d, workspace, fmt.Sprintf("first-%d", n))
			}
			err := d.In(t.Context(), db.Workspace(workspace), func(tx db.Tx) error {
				between := &interrupted{tx, before, func() { join(t, d, workspace, "late") }}
				snap, err := fleet.SnapshotTx(t.Context(), between, workspace)
				for _, f := range snap.Factories {
					for _, a := range f.Agents {
						if a.Name != "agent-of-"+f.Name {
							t.Errorf("%s stands in the factory %s", a.Name, f.Name)
						}
					}
				}
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
}

// join adds a factory with one agent.
func join(t *testing.T, d *db.DB, workspace ids.ID, name string) {
	t.Helper()
	dbfactory.Exec(t, d, `WITH f AS (INSERT INTO factory (workspace_id, id, name) VALUES ($1, gen_random_uuid(), $2) RETURNING id)
		INSERT INTO agent (workspace_id, id, factory_id, name, boot_id) SELECT $1, gen_random_uuid(), id, 'agent-of-' || $2::text, 'b' FROM f`,
		workspace, name)
}
