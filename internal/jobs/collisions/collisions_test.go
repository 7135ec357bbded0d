package collisions_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/db/dbtest"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs/collisions"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// However much is touched in a repo and in others, and without statistics: what collides with a file is
// found by the index, and so is what an ended lease leaves.
func TestCollisionsAreFoundByIndex(t *testing.T) {
	t.Parallel()
	d, workspace := dbfactory.Filled(t, func(one, other ids.ID) []string {
		var list []string
		for _, in := range []ids.ID{one, other} {
			list = append(list, touchingJobs(in, 40)...)
			list = append(list, fmt.Sprintf(`INSERT INTO touched_path (workspace_id, job_id, epoch, repo, path)
				SELECT j.workspace_id, j.id, 1, 'r', CASE WHEN i = 1 THEN 'go.mod' ELSE j.key || '/' || i END
				FROM job j, generate_series(1, 2000) i WHERE j.workspace_id = '%s'`, in))
		}
		return list
	})
	who := tenancy.System(workspace, "test")
	var own ids.ID
	read := func(what string, most int64, do func(tx db.Tx) error) {
		t.Helper()
		if n := dbtest.RowsRead(t, d, workspace, do, "touched_path")["touched_path"]; n > most {
			t.Errorf("%s reads %d rows of touched_path; want at most %d", what, n, most)
		}
	}
	err := d.In(t.Context(), db.Workspace(workspace), func(_ db.Tx) error {
		own, _ = ids.Parse(dbfactory.Text(t, d, "SELECT id::text FROM job WHERE workspace_id = $1 AND key = 'J-7'", workspace))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	// Its own 2,000 are counted, twice with the ones that are to be forgotten; 40 have each path.
	read("a touch", 4_200, func(tx db.Tx) error {
		_, _, err := collisions.AddTx(t.Context(), tx, who, collisions.Touch{Job: collisions.Lease{ID: own, Epoch: 1}, Repo: "r",
			Paths: []string{"J-8/3", "new", "go.mod"}})
		return err
	})
	read("an end", 2_010, func(tx db.Tx) error {
		return collisions.EndTx(t.Context(), tx, workspace, []collisions.End{{Who: who, Job: own, Repo: "r"}})
	})
}

// Jobs that touch many files do not pay for each of them with a look at all, whatever PostgreSQL
// believes of the table.
func TestManyTouchedFilesAreEachLookedUpOnce(t *testing.T) {
	t.Parallel()
	for name, before := range map[string]string{
		"a new table":             `SELECT`,
		"a table that was empty":  `VACUUM ANALYZE touched_path`,
		"a table with a few rows": `INSERT INTO touched_path SELECT workspace_id, id, 1, 'r', 'a' FROM job WHERE key = 'J-1'; VACUUM ANALYZE touched_path`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, workspace := dbfactory.Filled(t, func(one, other ids.ID) []string {
				return append(touchingJobs(one, 3), touchingJobs(other, 3)...)
			})
			for _, statement := range strings.Split(before, "; ") {
				dbfactory.Exec(t, d, statement)
			}
			who := tenancy.System(workspace, "test")
			var paths []string
			for i := range 1000 {
				paths = append(paths, fmt.Sprint("many/", i))
			}
			for _, key := range []string{"J-2", "J-0"} {
				own, _ := ids.Parse(dbfactory.Text(t, d, "SELECT id::text FROM job WHERE workspace_id = $1 AND key = $2", workspace, key))
				touch := func(tx db.Tx) error {
					_, _, err := collisions.AddTx(t.Context(), tx, who, collisions.Touch{Job: collisions.Lease{ID: own, Epoch: 1}, Repo: "r", Paths: paths})
					return err
				}
				if n := dbtest.RowsRead(t, d, workspace, touch, "touched_path")["touched_path"]; n > 10_000 {
					t.Errorf("%s reads %d rows of touched_path; want at most 10,000", key, n)
				}
				if err := d.In(t.Context(), db.Workspace(workspace), touch); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// touchingJobs makes jobs of a repo in a workspace.
func touchingJobs(workspace ids.ID, n int) []string {
	list := []string{fmt.Sprintf(`INSERT INTO lane (workspace_id, product_id, needs, digest)
		SELECT workspace_id, id, '{}', '' FROM product WHERE workspace_id = '%s' LIMIT 1`, workspace)}
	for i := range n {
		list = append(list, fmt.Sprintf(`INSERT INTO job (workspace_id, id, key, title, product_id, lane_id, repo, status, epoch, created_by)
			SELECT '%s', gen_random_uuid(), 'J-%d', 'job', l.product_id, l.id, 'r', 'blocked', 1, 'test' FROM lane l WHERE l.workspace_id = '%[1]s'`, workspace, i))
	}
	return list
}
