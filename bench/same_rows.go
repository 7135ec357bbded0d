package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// sameRowsScript is what a claim and a completion write, one job and one statement after
// another, in two transactions, with the tables and indexes of the product: the job, its
// place in the queue, lease, attempt and events. Nothing is checked: not who may, not which
// lanes an agent serves, nor whether a call was made before.
const sameRowsScript = `BEGIN;
DELETE FROM job_ready r USING (SELECT q.job_id FROM job_ready q WHERE q.workspace_id = '%[1]s' AND q.lane_id = %[2]d
    ORDER BY q.priority DESC, q.ready_at, q.job_id LIMIT 1 FOR UPDATE SKIP LOCKED) n
WHERE r.workspace_id = '%[1]s' AND r.job_id = n.job_id RETURNING r.job_id AS job \gset
UPDATE job SET status = 'assigned', status_by = '%[4]s', status_by_kind = 'agent', status_by_id = '%[3]s', status_at = now(),
    epoch = epoch + 1, attempts = attempts + 1, assigned_at = now(), ready_at = NULL, version = version + 1, updated_at = now()
WHERE workspace_id = '%[1]s' AND id = :job;
INSERT INTO job_lease (workspace_id, job_id, epoch, agent_id, agent, factory_id, factory, ttl_seconds, expires_at)
VALUES ('%[1]s', :job, 1, '%[3]s', '%[4]s', '%[5]s', '%[6]s', 900, now() + interval '900 s');
INSERT INTO attempt (workspace_id, job_id, epoch, agent_id, agent, factory) VALUES ('%[1]s', :job, 1, '%[3]s', '%[4]s', '%[6]s');
INSERT INTO event (workspace_id, type, job_id, actor, actor_kind, actor_id, epoch, saved_at, changes, payload)
VALUES ('%[1]s', 'job.claimed', :job, '%[4]s', 'agent', '%[3]s', 1, now(),
    '[{"field": "status", "old": "ready", "new": "assigned"}]', '{"factory": "%[6]s", "ttl_seconds": 900}');
COMMIT;
BEGIN;
UPDATE job SET status = 'completed', status_at = now(), completed_at = now(), result = '{}', version = version + 1, updated_at = now()
WHERE workspace_id = '%[1]s' AND id = :job;
DELETE FROM job_lease WHERE workspace_id = '%[1]s' AND job_id = :job;
UPDATE attempt SET ended_at = now(), outcome = 'completed', result = '{}', result_digest = sha256('{}')
WHERE workspace_id = '%[1]s' AND job_id = :job AND epoch = 1;
INSERT INTO event (workspace_id, type, job_id, actor, actor_kind, actor_id, epoch, saved_at, changes, payload)
VALUES ('%[1]s', 'job.completed', :job, '%[4]s', 'agent', '%[3]s', 1, now(),
    '[{"field": "status", "old": "assigned", "new": "completed"}]', '{"attempt": 1}');
COMMIT;
`

// sameRows measures n jobs whose rows are written as a claim and a completion write them, and
// gives the best jobs a second.
func (s *environment) sameRows(ctx context.Context, n int) (best float64, err error) {
	w, err := s.startWeb(ctx)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, w.stop(ctx)) }()
	// All trials, and the two best with all jobs; a client that rounds up has a job more.
	total := n*len(rawClients)/rawTrial + n*rawBest + claimAgents*len(rawClients)
	if err := w.submit(ctx, total); err != nil {
		return 0, err
	}
	if _, err := w.register(ctx, 1, 1); err != nil {
		return 0, err
	}
	if err := w.settle(ctx); err != nil {
		return 0, err
	}
	// The server writes nothing beside the loop.
	if err := w.cmd.Process.Kill(); err != nil {
		return 0, err
	}
	<-w.ended
	script, err := w.sameRowsScript(ctx)
	if err != nil {
		return 0, err
	}
	return s.loop(ctx, "loop with the same rows", w.database, script, n, func(int) error { return nil })
}

func (w *web) sameRowsScript(ctx context.Context) (script string, err error) {
	err = w.asOwner(ctx, func(owner *pgx.Conn) error {
		var workspace, agent, name, factory, factoryName string
		var lane int64
		err := owner.QueryRow(ctx, `SELECT a.workspace_id::text, a.id::text, a.name, f.id::text, f.name,
				(SELECT lane_id FROM job_ready LIMIT 1)
			FROM agent a JOIN factory f ON f.id = a.factory_id`).Scan(&workspace, &agent, &name, &factory, &factoryName, &lane)
		script = fmt.Sprintf(sameRowsScript, workspace, lane, agent, name, factory, factoryName)
		return err
	})
	return script, err
}
