package jobsearch

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/db/dbtest"
	"github.com/fleetboard/fleetboard/internal/fulltext"
	"github.com/fleetboard/fleetboard/internal/ids"
)

// To write the words of logs and to find them, no table that grows is read from end to end,
// whatever is known of it.
func TestThePlansOfLogs(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	workspace := dbfactory.Workspace(t, d)
	fillLogs(t, d, workspace)
	wanted, err := fulltext.Parse("common rare7 lines.of")
	if err != nil {
		t.Fatal(err)
	}
	for _, when := range []string{`SELECT 1`, `ANALYZE`, `DELETE FROM pg_statistic`} {
		dbfactory.Exec(t, d, when)
		dbfactory.Exec(t, d, `DELETE FROM job_log_words_place`)
		dbfactory.Exec(t, d, `DELETE FROM job_log_words WHERE epoch = 1`)
		var next due
		for next.events == 0 { // until older transactions of other tests have ended
			noScans(t, d, workspace, when, func(tx db.Tx) (err error) {
				next, err = dueTx(t.Context(), tx, workspace)
				return err
			})
		}
		if len(next.attempts) != indexPage {
			t.Errorf("%s: %d attempts are due", when, len(next.attempts))
		}
		noScans(t, d, workspace, when, func(tx db.Tx) error {
			_, err := indexTx(t.Context(), tx, workspace, next.attempts[0], next.era)
			return errors.Join(err, savePlaceTx(t.Context(), tx, workspace, next.end, next.era))
		})
		noScans(t, d, workspace, when, func(tx db.Tx) error {
			list, err := findLogsTx(t.Context(), tx, workspace, wanted, 8)
			if len(list) != 8 {
				t.Errorf("%s: found %d", when, len(list))
			}
			return err
		})
	}
}

// fillLogs makes jobs with attempts that have ended, each with lines, most of them with words.
func fillLogs(t *testing.T, d *db.DB, workspace ids.ID) {
	t.Helper()
	for _, table := range []string{"job", "attempt", "job_log", "job_log_words", "event"} {
		dbfactory.Exec(t, d, `ALTER TABLE `+table+` SET (autovacuum_enabled = false)`)
	}
	dbfactory.AnyFacts(t, d)
	for _, sql := range []string{
		`INSERT INTO product (workspace_id, id, name) VALUES ($1, gen_random_uuid(), 'p')`,
		`INSERT INTO lane (workspace_id, product_id, needs, digest) SELECT workspace_id, id, '{}', sha256('x') FROM product WHERE workspace_id = $1 AND name = 'p'`,
		`INSERT INTO job (workspace_id, id, key, title, product_id, lane_id, status, created_by, completed_at)
			SELECT $1, gen_random_uuid(), 'J-' || n, 'job', l.product_id, l.id, 'completed', 'test', now()
			FROM generate_series(1, 3000) n, lane l JOIN product p ON p.id = l.product_id AND p.name = 'p' WHERE l.workspace_id = $1`,
		`INSERT INTO job_text (workspace_id, job_id) SELECT workspace_id, id FROM job WHERE workspace_id = $1`,
		`INSERT INTO attempt (workspace_id, job_id, epoch, agent, factory, ended_at, outcome)
			SELECT workspace_id, id, e, 'a', 'f', now(), 'completed' FROM job, generate_series(1, 2) e WHERE workspace_id = $1`,
		`INSERT INTO job_log (workspace_id, job_id, epoch, agent, level, message)
			SELECT a.workspace_id, a.job_id, a.epoch, 'a', 'INFO', 'common lines.of rare' || n FROM attempt a, generate_series(1, 10) n WHERE a.workspace_id = $1`,
		`INSERT INTO event (workspace_id, type, job_id, actor, actor_kind)
			SELECT workspace_id, 'test.done', id, 'test', 'system' FROM job, generate_series(1, 4) WHERE workspace_id = $1 ORDER BY id`,
		`INSERT INTO job_log_words (workspace_id, job_id, epoch, first_id, last_id, words, last_at)
			SELECT a.workspace_id, a.job_id, a.epoch, l.first, l.last, words_of_era(a.workspace_id, 0) || array_to_tsvector(ARRAY['common', 'lines', 'of', 'rare7']), now()
			FROM attempt a JOIN (SELECT job_id, epoch, min(id) AS first, max(id) AS last FROM job_log GROUP BY 1, 2) l USING (job_id, epoch)
			WHERE a.workspace_id = $1`,
	} {
		dbfactory.Exec(t, d, sql, workspace)
	}
}

// noScans fails where a transaction reads a table of many rows from end to end.
func noScans(t *testing.T, d *db.DB, workspace ids.ID, when string, do func(db.Tx) error) {
	t.Helper()
	err := d.In(t.Context(), db.Workspace(workspace), func(tx db.Tx) error {
		if err := do(tx); err != nil {
			return err
		}
		names, err := scanned(t.Context(), tx)
		if len(names) > 0 {
			t.Errorf("%s: read from end to end: %s", when, strings.Join(names, ", "))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// scanned returns the tables that the transaction has read from end to end.
func scanned(ctx context.Context, tx db.Tx) ([]string, error) {
	rows, err := tx.Query(ctx, `SELECT relname::text FROM pg_stat_xact_user_tables
		WHERE seq_scan > 0 AND relname IN ('job', 'attempt', 'job_log', 'job_log_words', 'event')`)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}
