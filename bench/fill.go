package main

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// load is how many jobs a database is filled with.
type load struct {
	ready, waiting, completed int
	// front are ready jobs of lanes that no agent of the bench serves, more
	// urgent and older than all others.
	front int
}

func (l load) all() int { return l.ready + l.waiting + l.completed + l.front }

const (
	// servedLanes are the lanes of the jobs, apart from those in front. Every agent
	// of the bench has the capabilities bench:0 and so on.
	servedLanes = 8
	frontLanes  = 100
)

// filling writes jobs as the server would have, with the events that give their
// state. The numbers follow those of jobs that are there, the statuses are mixed.
// Half of what waits waits for another job, half for a time. Foreign keys are not
// checked: they hold by the way the rows are made.
var filling = []struct{ what, sql string }{
	{"a plan", `CREATE TEMPORARY TABLE plan AS
		SELECT n, ('01900001-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid AS id, t.workspace_id, t.product_id, t.lane_id,
		t.capabilities,
			CASE s.status WHEN 'front' THEN 'ready' ELSE s.status END AS status,
			CASE s.status WHEN 'front' THEN 10 ELSE n % 10 END AS priority,
			CASE WHEN s.status <> 'waiting' THEN '' WHEN n % 2 = 0 THEN 'dependency' ELSE 'not_before' END AS wait_reason,
			now() - CASE s.status WHEN 'front' THEN interval '2 days' ELSE make_interval(secs => (@all - i) / 100.0) END AS at
		FROM (SELECT i, i + @from AS n, status FROM (SELECT row_number() OVER (ORDER BY hashint8(k)) AS i, CASE
				WHEN k <= @ready THEN 'ready' WHEN k <= @ready + @waiting THEN 'waiting'
				WHEN k <= @ready + @waiting + @completed THEN 'completed' ELSE 'front' END AS status
			FROM generate_series(1::bigint, @all) k) m) s
		JOIN job t ON t.key = CASE s.status WHEN 'front' THEN 'FRONT-' || n % @fronts ELSE 'LANE-' || n % @lanes END`},
	{"jobs", `INSERT INTO job (workspace_id, id, key, title, product_id, lane_id, capabilities, status, wait_reason, not_before, priority,
			created_by, status_by, status_by_kind, version, epoch, attempts, created_at, updated_at, status_at, ready_at, assigned_at,
			completed_at)
		SELECT workspace_id, id, 'L-' || n, 'Show invoice ' || n || ' in integer cents', product_id, lane_id, capabilities, status,
		wait_reason,
			CASE wait_reason WHEN 'not_before' THEN at + interval '300 days' END, priority, 'Mara',
			CASE status WHEN 'completed' THEN 'agent-of-old' ELSE 'Mara' END, CASE status WHEN 'completed' THEN 'agent' ELSE 'person' END,
			CASE status WHEN 'completed' THEN 3 ELSE 1 END,
			CASE status WHEN 'completed' THEN 1 ELSE 0 END, CASE status WHEN 'completed' THEN 1 ELSE 0 END, at, at, at,
			CASE status WHEN 'ready' THEN at END, CASE status WHEN 'completed' THEN at END, CASE status WHEN 'completed' THEN at END
		FROM plan ORDER BY n`},
	{"texts", `INSERT INTO job_text (workspace_id, job_id, body)
		SELECT workspace_id, id, repeat('Amounts are integers of cents. ', 10) FROM plan ORDER BY n`},
	{"ready rows", `INSERT INTO job_ready (workspace_id, lane_id, priority, ready_at, place, job_id)
		SELECT workspace_id, lane_id, priority, at, at, id FROM plan WHERE status = 'ready' ORDER BY n`},
	{"attempts", `INSERT INTO attempt (workspace_id, job_id, epoch, agent, factory, claimed_at, ended_at, outcome)
		SELECT workspace_id, id, 1, 'agent-of-old', 'factory-of-old', at, at, 'completed' FROM plan WHERE status = 'completed' ORDER BY n`},
	{"links", `INSERT INTO job_dependency (workspace_id, job_id, depends_on_id, created_by)
		SELECT p.workspace_id, p.id, t.id, 'Mara' FROM plan p JOIN job t ON t.workspace_id = p.workspace_id
		AND t.key = 'FRONT-' || p.n % @fronts
		WHERE p.wait_reason = 'dependency'`},
	{"events", `INSERT INTO event (workspace_id, type, job_id, actor, actor_kind, epoch, at, saved_at, changes)
		SELECT workspace_id, CASE e WHEN 1 THEN 'job.created' WHEN 2 THEN 'job.claimed' ELSE 'job.completed' END, id,
			CASE e WHEN 1 THEN 'Mara' ELSE 'agent-of-old' END, CASE e WHEN 1 THEN 'person' ELSE 'agent' END,
			CASE WHEN e > 1 THEN 1 END, at, at,
			CASE e WHEN 2 THEN '[{"field": "status", "old": "ready", "new": "assigned"}]'
				WHEN 3 THEN '[{"field": "status", "old": "assigned", "new": "completed"}]'
				ELSE jsonb_build_array(jsonb_build_object('field', 'status', 'new',
				CASE status WHEN 'completed' THEN 'ready' ELSE status END),
					jsonb_build_object('field', 'wait_reason', 'new', wait_reason), jsonb_build_object('field', 'priority', 'new',
					priority),
					jsonb_build_object('field', 'key', 'new', 'L-' || n), jsonb_build_object('field', 'input_context', 'new', '{}'::jsonb),
					jsonb_build_object('field', 'body', 'new', repeat('Amounts are integers of cents. ', 10)),
					jsonb_build_object('field', 'max_retries', 'new', 3), jsonb_build_object('field', 'max_lost', 'new', 5),
					jsonb_build_object('field', 'retry_backoff_seconds', 'new', 300),
					jsonb_build_object('field', 'title', 'new', 'Show invoice ' || n || ' in integer cents'),
					jsonb_build_object('field', 'product', 'new', 'default'), jsonb_build_object('field', 'capabilities', 'new',
					capabilities),
					jsonb_build_object('field', 'not_before', 'new',
					CASE wait_reason WHEN 'not_before' THEN at + interval '300 days' END)) END
		FROM plan, generate_series(1, 3) e WHERE e = 1 OR status = 'completed' ORDER BY n, e`},
	{"counts", `INSERT INTO job_count_change (workspace_id, product_id, status, jobs)
		SELECT workspace_id, product_id, status, count(*) FROM plan GROUP BY workspace_id, product_id, status`},
}

// fill adds jobs to a server's default workspace, past the server: in pieces of
// minutes it writes what would take the API hours. It settles what it wrote.
func (w *web) fill(ctx context.Context, l load) error {
	if err := w.openLanes(ctx); err != nil {
		return err
	}
	began := time.Now()
	if err := w.asOwner(ctx, func(owner *pgx.Conn) error { return w.write(ctx, owner, l) }); err != nil {
		return err
	}
	if err := w.settle(ctx); err != nil {
		return err
	}
	w.filled += l.all()
	w.environment.sayf("%d ready, %d waiting, %d completed and %d ready jobs in front, written in %.0f s", l.ready, l.waiting, l.completed,
		l.front,
		time.Since(began).Seconds())
	// What the server knows of its lanes it learned before they were filled.
	return w.wake(ctx)
}

func (w *web) write(ctx context.Context, owner *pgx.Conn, l load) error {
	if _, err := owner.Exec(ctx, `SET session_replication_role = replica`); err != nil {
		return err
	}
	numbers := strings.NewReplacer("@all", fmt.Sprint(l.all()), "@from", fmt.Sprint(w.filled), "@ready", fmt.Sprint(l.ready), "@waiting",
		fmt.Sprint(l.waiting),
		"@completed", fmt.Sprint(l.completed), "@fronts", fmt.Sprint(frontLanes), "@lanes", fmt.Sprint(servedLanes))
	for _, step := range filling {
		if _, err := owner.Exec(ctx, numbers.Replace(step.sql)); err != nil {
			return fmt.Errorf("filling %s: %w", step.what, err)
		}
	}
	return nil
}

// openLanes makes the lanes, with a job of each that stays the last one.
func (w *web) openLanes(ctx context.Context) error {
	if w.filled > 0 {
		return nil
	}
	var list []string
	for i := range servedLanes {
		list = append(list, fmt.Sprintf(`{"key":"LANE-%d","title":"A lane","priority":0,"capabilities":["bench:%d"]}`, i, i))
	}
	for i := range frontLanes {
		list = append(list, fmt.Sprintf(`{"key":"FRONT-%d","title":"A lane","priority":0,"capabilities":["nobody:%d"]}`, i, i))
	}
	return w.submitThese(ctx, list)
}

// wake submits a job to each of the lanes, so that the server looks at them.
func (w *web) wake(ctx context.Context) error {
	var list []string
	for i := range servedLanes {
		list = append(list, fmt.Sprintf(`{"title":"A new one","capabilities":["bench:%d"]}`, i))
	}
	return w.submitThese(ctx, list)
}

// submitThese creates up to 1,000 jobs.
func (w *web) submitThese(ctx context.Context, list []string) error {
	owner, err := w.first(ctx, "owner-token")
	if err != nil {
		return err
	}
	defer owner.close()
	_, err = owner.must(http.MethodPost, "/api/v1/jobs/batch", []byte(`{"jobs":[`+strings.Join(list, ",")+`]}`), http.StatusCreated)
	return err
}
