package e2e

import (
	"testing"

	"github.com/fleetboard/fleetboard/db/dbtest"
)

// A server that leads does by itself what nobody requests: what is older than it
// is kept goes, what is younger stays, and the log of a job that has long been
// quiet becomes one event.
func TestARunningServerForgetsWhatIsOld(t *testing.T) {
	t.Parallel()
	url, dir := dbtest.URL(t), t.TempDir()
	s := startOn(t, url, dir)
	s.submit("quiet for long")
	s.stop()
	books := openLedger(t, url)
	for what, sql := range map[string]string{
		"lines of a job": `INSERT INTO job_log (workspace_id, job_id, epoch, agent, level, message, received_at)
			SELECT workspace_id, id, 1, 'claude-1', 'INFO', age, now() - age::interval FROM job, unnest(ARRAY['29 days', '31 days']) age`,
		"lines of the coordinator": `INSERT INTO coordinator_log (workspace_id, instance_id, term, level, message, at)
			SELECT w, 'x', 1, 'INFO', age, now() - age::interval
			FROM unnest(ARRAY['29 days', '31 days']) age, unnest(ARRAY[NULL, (SELECT id FROM workspace)]) w`,
		"sessions": `INSERT INTO session (token_hash, data, ip, expires_at)
			SELECT sha256(age::bytea), '', '127.0.0.1', now() + age::interval FROM unnest(ARRAY['1 hour', '-1 hour']) age`,
		"events": `INSERT INTO event (workspace_id, type, job_id, actor, actor_kind, at, changes)
			SELECT workspace_id, 'job.edited', id, 'test', 'system', now() - interval '91 days' + make_interval(secs => n),
				jsonb_build_array(jsonb_build_object('field', 'priority', 'old', n % 2 + 5, 'new', (n + 1) % 2 + 5))
			FROM job, generate_series(1, 60) n`,
		"the creation": `UPDATE event SET at = now() - interval '92 days' WHERE type = 'job.created'`,
	} {
		if _, err := books.conn.Exec(t.Context(), sql); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
	}
	s.launch()
	for what, sql := range map[string]string{
		"old lines of the job's log":      `SELECT count(*) FROM job_log WHERE message = '31 days'`,
		"old lines of the coordinator":    `SELECT count(*) FROM coordinator_log WHERE message = '31 days'`,
		"sessions that are over":          `SELECT count(*) FROM session WHERE expires_at < now()`,
		"old events that were not folded": `SELECT count(*) FROM event WHERE at < now() - interval '90 days' AND type <> 'job.compacted'`,
	} {
		eventually(t, what+" going", func() bool { return books.number(sql) == 0 })
	}
	for what, sql := range map[string]string{
		"lines of the job's log":   `SELECT count(*) - 1 FROM job_log`,
		"lines of the coordinator": `SELECT count(*) - 2 FROM coordinator_log WHERE message = '29 days'`,
		"sessions":                 `SELECT count(*) - 1 FROM session`,
		"sums":                     `SELECT count(*) - 1 FROM event WHERE type = 'job.compacted' AND payload->>'events' = '61'`,
	} {
		if n := books.number(sql); n != 0 {
			t.Errorf("%s: %+d", what, n)
		}
	}
}
