-- +goose Up

-- What the queue did, hour by hour, for the charts of the last day: kept for two days. It is
-- summed up together with the counts of jobs, from what each change of them says, so that nobody
-- reads jobs, attempts or events for it (ADR 105). n of a kind is
--   ready:  by how much the number of ready jobs changed
--   leases: by how much that of assigned and running jobs did
--   waited: how many jobs were claimed after waiting so long, by step of wait_step
--   up:     1 where a coordinator was at work
-- An hour without any row is one of which nothing is known.
CREATE TABLE queue_hour (
    workspace_id uuid NOT NULL REFERENCES workspace(id) ON DELETE CASCADE,
    hour         timestamptz NOT NULL,
    kind         text NOT NULL CHECK (kind IN ('ready', 'leases', 'waited', 'up')),
    step         smallint NOT NULL DEFAULT 0,
    n            bigint NOT NULL,
    PRIMARY KEY (workspace_id, hour, kind, step)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500, autovacuum_vacuum_cost_delay = 0);
ALTER TABLE queue_hour ENABLE ROW LEVEL SECURITY;
ALTER TABLE queue_hour FORCE ROW LEVEL SECURITY;
CREATE POLICY workspace ON queue_hour TO fleetboard_app
    USING (workspace_id = (SELECT nullif(current_setting('app.workspace_id', true), '')::uuid))
    WITH CHECK (workspace_id = (SELECT nullif(current_setting('app.workspace_id', true), '')::uuid));
GRANT SELECT, INSERT, UPDATE, DELETE ON queue_hour TO fleetboard_app;

-- When a change was made, however late it is summed up; and of jobs that were claimed, how many
-- seconds each had been ready.
ALTER TABLE job_count_change
    ADD COLUMN at     timestamptz NOT NULL DEFAULT now(),
    ADD COLUMN waited real[];

-- Steps of waits: 0 is up to a tenth of a second, and four steps double it. Step 100 is a month
-- and more.
CREATE FUNCTION wait_step(seconds real) RETURNS smallint LANGUAGE sql IMMUTABLE PARALLEL SAFE AS
$$ SELECT least(ceil(4 * ln(greatest(seconds, 0.1::real)::float8 / 0.1) / ln(2::float8) - 1e-6), 100)::smallint $$;

-- +goose StatementBegin
CREATE OR REPLACE FUNCTION job_counted() RETURNS trigger LANGUAGE plpgsql AS
$$
BEGIN
    IF TG_OP = 'INSERT' THEN
        INSERT INTO public.job_count_change (workspace_id, product_id, status, jobs)
        SELECT n.workspace_id, n.product_id, n.status, count(*) FROM new_jobs n GROUP BY n.workspace_id, n.product_id, n.status;
    ELSE
        -- The row of a job before and after stand beside one another once they are sorted: what this
        -- takes grows with the number of jobs, whatever the plan, and not with its square.
        INSERT INTO public.job_count_change (workspace_id, product_id, status, jobs, waited)
        SELECT c.workspace_id, c.product_id, c.status, sum(c.jobs), array_agg(c.waited) FILTER (WHERE c.waited IS NOT NULL) FROM (
            SELECT b.workspace_id, b.product_id, b.status, b.jobs, CASE WHEN b.status = 'assigned' AND b.jobs = 1
                THEN extract(epoch FROM b.at - lag(b.at) OVER (PARTITION BY b.id ORDER BY b.jobs))::real END AS waited
            FROM (
                SELECT o.workspace_id, o.product_id, o.status, -1 AS jobs, o.id,
                    CASE WHEN o.status = 'ready' THEN coalesce(o.ready_at, now()) END AS at FROM old_jobs o
                UNION ALL
                SELECT n.workspace_id, n.product_id, n.status, 1, n.id, n.assigned_at FROM new_jobs n) b) c
        GROUP BY c.workspace_id, c.product_id, c.status HAVING sum(c.jobs) <> 0;
    END IF;
    RETURN NULL;
END
$$;
-- +goose StatementEnd
