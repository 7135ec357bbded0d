package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/fleetboard/fleetboard/internal/ids"
)

// dataset is what was loaded: ten workspaces, of which the first has half of all
// jobs and is the one that is measured.
type dataset struct {
	workspace ids.ID
	lanes     []int64
	agents    []datasetAgent
}

type datasetAgent struct{ ID, Factory ids.ID }

// The settings of the load. Each number is read by name in loading.
const (
	datasetWorkspaces = 10
	datasetLanes      = 8
	datasetAgents     = 100
	leasesOfAgent     = 2
)

// loading fills the tables. Job n has an id that rises with n, as real ones do;
// k is its number in its workspace. The first jobs of a workspace are in work, of
// the others a tenth is ready, a twentieth waits, some are in review, and the
// rest is over. Foreign keys are not checked while loading: they hold by the way
// the rows are made.
var loading = []struct{ what, sql string }{
	{"workspaces",
		`INSERT INTO workspace (id, slug, name) SELECT dataset_id('a', w), 'w-' || w, 'Workspace ' || w
			FROM generate_series(1, @workspaces) w`},
	{"products",
		`INSERT INTO product (workspace_id, id, name) SELECT dataset_id('a', w), dataset_id('b', w), 'default'
			FROM generate_series(1, @workspaces) w`},
	{"lanes", `INSERT INTO lane (workspace_id, id, product_id, needs, digest) OVERRIDING SYSTEM VALUE
		SELECT dataset_id('a', w), w * 100 + l, dataset_id('b', w), ARRAY['engine:claude', 'repo:repo-' || l],
			sha256((w || '/' || l)::bytea)
		FROM generate_series(1, @workspaces) w, generate_series(0, @lanes - 1) l`},
	{"factories", `INSERT INTO factory (workspace_id, id, name, os, seats)
		SELECT dataset_id('a', w), dataset_id('c', w * 1000 + f), 'factory-' || f, 'linux', 20
		FROM generate_series(1, @workspaces) w, generate_series(0, @agents / 10) f`},
	{"agents", `INSERT INTO agent (workspace_id, id, factory_id, name, model, boot_id, max_concurrent_jobs)
		SELECT dataset_id('a', w), dataset_id('d', w * 1000 + a), dataset_id('c', w * 1000 + a / 10), 'agent-' || a, 'sonnet', 'boot', 8
		FROM generate_series(1, @workspaces) w, generate_series(0, @agents - 1) a`},
	{"jobs", `CREATE TEMPORARY TABLE plan AS
		SELECT n, w, k, dataset_id('a', w) AS workspace_id, dataset_id('e', n) AS id, CASE
			WHEN k <= @agents * @leases THEN 'running' WHEN k % 10 = 0 THEN 'ready' WHEN k % 20 = 1 THEN 'waiting'
			WHEN k % 200 = 3 THEN 'in_review' WHEN k % 50 = 7 THEN 'failed' ELSE 'completed' END AS status
		FROM (SELECT n, CASE WHEN n % 2 = 0 THEN 1 ELSE 2 + (n / 2) % (@workspaces - 1) END AS w,
			CASE WHEN n % 2 = 0 THEN n / 2 ELSE 1 + n / 2 / (@workspaces - 1) END AS k FROM generate_series(1, @rows) n) s`},
	{"", `INSERT INTO job (workspace_id, id, key, title, product_id, repo, phase, priority, capabilities, lane_id, status, wait_reason,
			created_by, epoch, attempts, created_at, updated_at, status_at, ready_at, assigned_at, started_at, completed_at, failed_at)
		SELECT workspace_id, id, 'FB-' || k, 'Show invoice ' || k || ' in integer cents and round half to even', dataset_id('b', w),
			'repo-' || k / 10 % @lanes, 'M' || k % 5, k % 11, '{engine:claude}', w * 100 + k / 10 % @lanes, status,
			CASE status WHEN 'waiting' THEN 'dependency' ELSE '' END, 'Mara', CASE WHEN status IN ('ready', 'waiting') THEN 0 ELSE 1 END,
			CASE WHEN status IN ('ready', 'waiting') THEN 0 ELSE 1 END, at, at, at, CASE status WHEN 'ready' THEN at END,
			CASE status WHEN 'running' THEN at END, CASE status WHEN 'running' THEN at END,
			CASE status WHEN 'completed' THEN at END, CASE status WHEN 'failed' THEN at END
		FROM plan, LATERAL (SELECT now() - make_interval(secs => @rows - n) AS at) t`},
	{"texts", `INSERT INTO job_text (workspace_id, job_id, body, acceptance)
		SELECT workspace_id, id, repeat('Amounts are integers of cents. ', 10), '["Tests pass", "No float is left"]' FROM plan`},
	{"ready rows", `INSERT INTO job_ready (workspace_id, lane_id, priority, ready_at, place, job_id)
		SELECT j.workspace_id, j.lane_id, j.priority, j.ready_at, j.ready_at, j.id FROM job j WHERE j.status = 'ready'`},
	{"leases", `INSERT INTO job_lease (workspace_id, job_id, epoch, agent_id, factory_id, ttl_seconds, expires_at)
		SELECT workspace_id, id, 1, dataset_id('d', w * 1000 + k % @agents), dataset_id('c', w * 1000 + k % @agents / 10), 7200,
		now() + interval '10 hours'
		FROM plan WHERE status = 'running'`},
	{"attempts", `INSERT INTO attempt (workspace_id, job_id, epoch, agent, factory, model, ended_at, outcome)
		SELECT workspace_id, id, 1, 'agent-' || k % @agents, 'factory-' || k % @agents / 10, 'sonnet',
		CASE status WHEN 'running' THEN NULL ELSE now() END,
			CASE status WHEN 'running' THEN '' WHEN 'failed' THEN 'failed' ELSE 'completed' END
		FROM plan WHERE status NOT IN ('ready', 'waiting')`},
	{"links", `INSERT INTO job_dependency (workspace_id, job_id, depends_on_id, created_by)
		SELECT workspace_id, id, dataset_id('e', n - 2), 'Mara' FROM plan WHERE status = 'waiting' AND k > 1 AND w = 1`},
	// Of transactions that have long ended, so that the log can be read up to its end.
	{"events", `INSERT INTO event (workspace_id, xid, type, job_id, actor, actor_kind, at, changes, payload)
		SELECT workspace_id, (3 + n * 500 / @rows)::text::xid8,
		CASE e WHEN 1 THEN 'job.created' ELSE 'job.claimed' END, id, 'Mara', 'person',
			now() - make_interval(secs => @rows - n), '[{"field": "status", "old": "ready", "new": "assigned"}]', '{"factory": "factory-1"}'
		FROM plan, generate_series(1, 2) e WHERE e = 1 OR status NOT IN ('ready', 'waiting') ORDER BY n, e`},
}

// dataset loads the database at the first call.
func (s *environment) dataset(ctx context.Context) (*dataset, error) {
	if s.loaded != nil {
		return s.loaded, nil
	}
	began := time.Now()
	for _, sql := range []string{
		`CREATE FUNCTION pg_temp.dataset_id(kind text, n bigint) RETURNS uuid LANGUAGE sql IMMUTABLE
			AS $$ SELECT ('01900000-000' || kind || '-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid $$`,
		`SET session_replication_role = replica`,
	} {
		if _, err := s.owner.Exec(ctx, sql); err != nil {
			return nil, err
		}
	}
	fill := strings.NewReplacer("dataset_id(", "pg_temp.dataset_id(", "@workspaces", fmt.Sprint(datasetWorkspaces),
		"@lanes", fmt.Sprint(datasetLanes), "@agents", fmt.Sprint(datasetAgents), "@leases", fmt.Sprint(leasesOfAgent),
		"@rows", fmt.Sprint(s.rows))
	for _, step := range loading {
		if _, err := s.owner.Exec(ctx, fill.Replace(step.sql)); err != nil {
			return nil, fmt.Errorf("loading %s: %w", step.what, err)
		}
	}
	for _, sql := range []string{`RESET session_replication_role`, `DROP TABLE plan`, `VACUUM ANALYZE`, `CHECKPOINT`} {
		if _, err := s.owner.Exec(ctx, sql); err != nil {
			return nil, err
		}
	}
	t, err := s.lookAround(ctx)
	if err != nil {
		return nil, err
	}
	var size string
	var jobs, events int
	err = s.owner.QueryRow(ctx,
		`SELECT pg_size_pretty(pg_database_size(current_database())), (SELECT count(*) FROM job), (SELECT count(*) FROM event)`).
		Scan(&size, &jobs, &events)
	if err != nil {
		return nil, err
	}
	s.sayf("%d jobs and %d events in %d workspaces, %s, loaded in %.0f s", jobs, events, datasetWorkspaces, size,
		time.Since(began).Seconds())
	s.loaded = t
	return t, nil
}

// lookAround reads the parameters of the statements.
func (s *environment) lookAround(ctx context.Context) (*dataset, error) {
	t := &dataset{}
	if err := s.owner.QueryRow(ctx, `SELECT id FROM workspace WHERE slug = 'w-1'`).Scan(&t.workspace); err != nil {
		return nil, err
	}
	rows, _ := s.owner.Query(ctx, `SELECT id FROM lane WHERE workspace_id = $1 ORDER BY id`, t.workspace)
	var err error
	if t.lanes, err = pgx.CollectRows(rows, pgx.RowTo[int64]); err != nil {
		return nil, err
	}
	rows, _ = s.owner.Query(ctx, `SELECT id, factory_id FROM agent WHERE workspace_id = $1 ORDER BY id`, t.workspace)
	t.agents, err = pgx.CollectRows(rows, pgx.RowToStructByPos[datasetAgent])
	return t, err
}
