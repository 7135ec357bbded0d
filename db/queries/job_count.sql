-- name: JobCountPerStatus :many
-- How many jobs of each product stand in each status, exactly: what was summed up,
-- and what came since.
SELECT p.name AS product, c.status::text AS status, sum(c.jobs)::bigint AS jobs
FROM (
    SELECT s.product_id, s.status, s.jobs FROM job_count s WHERE s.workspace_id = @workspace_id
    UNION ALL
    SELECT n.product_id, n.status, n.jobs FROM job_count_change n WHERE n.workspace_id = @workspace_id
) c JOIN product p ON p.workspace_id = @workspace_id AND p.id = c.product_id
GROUP BY p.name, c.status HAVING sum(c.jobs) <> 0 ORDER BY p.name, c.status;

-- name: JobReadySince :many
-- When the job that is ready longest became so; no row where none is ready. Of each
-- lane and priority the first that nobody has ranked is looked at, found by skipping from one to the next.
-- One that was raised may stand behind others that are ready since later, and one that was ranked
-- anywhere: the oldest of both are looked at too. That it has no rank is asked in a form of which many are
-- expected where statistics are missing.
WITH RECURSIVE head AS (
    (SELECT r.lane_id, r.priority, r.ready_at FROM job_ready r WHERE r.workspace_id = @workspace_id AND length(coalesce(r.rank, '')) < 1
    ORDER BY r.lane_id, r.priority DESC, r.place, r.tie_break LIMIT 1)
    UNION ALL
    SELECT n.lane_id, n.priority, n.ready_at FROM head h CROSS JOIN LATERAL (
        SELECT * FROM (
            (SELECT r.lane_id, r.priority, r.ready_at FROM job_ready r
            WHERE r.workspace_id = @workspace_id AND r.lane_id = h.lane_id AND r.priority < h.priority AND length(coalesce(r.rank, '')) < 1
            ORDER BY r.priority DESC, r.place, r.tie_break LIMIT 1)
            UNION ALL
            (SELECT r.lane_id, r.priority, r.ready_at FROM job_ready r
            WHERE r.workspace_id = @workspace_id AND r.lane_id > h.lane_id AND length(coalesce(r.rank, '')) < 1
            ORDER BY r.lane_id, r.priority DESC, r.place, r.tie_break LIMIT 1)
        ) either ORDER BY either.lane_id, either.priority DESC LIMIT 1
    ) n
)
SELECT o.ready_at::timestamptz AS ready_at, clock_timestamp()::timestamptz AS now FROM (
    SELECT h.ready_at FROM head h
    UNION ALL
    (SELECT r.ready_at FROM job_ready r WHERE r.workspace_id = @workspace_id AND r.place <> r.ready_at ORDER BY r.ready_at LIMIT 1)
    UNION ALL
    (SELECT r.ready_at FROM job_ready r WHERE r.workspace_id = @workspace_id AND r.rank IS NOT NULL ORDER BY r.ready_at LIMIT 1)
) o ORDER BY o.ready_at LIMIT 1;

-- name: JobCountWorkspaces :many
-- For the system role: where there is something to sum up, found by skipping from
-- one workspace to the next.
WITH RECURSIVE due AS (
    (SELECT c.workspace_id FROM job_count_change c ORDER BY c.workspace_id LIMIT 1)
    UNION ALL
    SELECT (SELECT c.workspace_id FROM job_count_change c WHERE c.workspace_id > d.workspace_id ORDER BY c.workspace_id LIMIT 1)
    FROM due d WHERE d.workspace_id IS NOT NULL
)
SELECT due.workspace_id::uuid AS workspace_id FROM due WHERE due.workspace_id IS NOT NULL;

-- name: JobCountSettle :one
-- Sums up changes of the counts, the oldest first, as they are now and by hour, and returns how
-- many. Two who do so at once take different ones, and wait for each other in one order.
WITH taken AS (
    DELETE FROM job_count_change c WHERE c.workspace_id = @workspace_id AND c.id = ANY(ARRAY(
        SELECT o.id FROM job_count_change o WHERE o.workspace_id = @workspace_id
        ORDER BY o.workspace_id, o.id LIMIT @max_rows FOR UPDATE SKIP LOCKED))
    RETURNING c.product_id, c.status, c.jobs, c.at, c.waited
), summed AS (
    INSERT INTO job_count AS s (workspace_id, product_id, status, jobs)
    SELECT @workspace_id, t.product_id, t.status, sum(t.jobs) FROM taken t
    GROUP BY t.product_id, t.status HAVING sum(t.jobs) <> 0 ORDER BY t.product_id, t.status
    ON CONFLICT (workspace_id, product_id, status) DO UPDATE SET jobs = s.jobs + excluded.jobs
), by_hour AS (
    INSERT INTO queue_hour AS h (workspace_id, hour, kind, step, n)
    SELECT @workspace_id, date_trunc('hour', f.at, 'UTC'), f.kind, f.step, sum(f.n) FROM (
        SELECT t.at, CASE t.status WHEN 'ready' THEN 'ready' ELSE 'leases' END AS kind, 0 AS step, t.jobs AS n
        FROM taken t WHERE t.status IN ('ready', 'assigned', 'running')
        UNION ALL
        SELECT t.at, 'waited', wait_step(w.seconds), 1 FROM taken t CROSS JOIN LATERAL unnest(t.waited) AS w(seconds)
    ) f GROUP BY 2, 3, 4 ORDER BY 2, 3, 4
    ON CONFLICT (workspace_id, hour, kind, step) DO UPDATE SET n = h.n + excluded.n
)
SELECT count(*)::int AS settled FROM taken;

-- name: QueueHours :many
-- What the queue did in some hours, and in one row of the kind depth how many jobs were ready at
-- the end of them all: both of what was summed up, in one snapshot. Hours are looked up one by
-- one: whatever the statistics say, those of other workspaces are not read.
SELECT h.hour::timestamptz AS hour, h.kind::text AS kind, h.step::smallint AS step, h.n::bigint AS n
FROM unnest(@hours::timestamptz[]) AS asked(hour) CROSS JOIN LATERAL (
    SELECT x.* FROM queue_hour x WHERE x.workspace_id = @workspace_id AND x.hour = asked.hour
    ORDER BY x.kind, x.step LIMIT 1000
) h
UNION ALL
SELECT clock_timestamp(), 'depth', 0, coalesce(sum(c.jobs), 0) FROM job_count c
WHERE c.workspace_id = @workspace_id AND c.status = 'ready';

-- name: QueueHourMark :exec
-- Notes that a coordinator is at work in this hour.
INSERT INTO queue_hour (workspace_id, hour, kind, n)
VALUES (@workspace_id, date_trunc('hour', clock_timestamp(), 'UTC'), 'up', 1) ON CONFLICT DO NOTHING;

-- name: QueueHourExpire :exec
DELETE FROM queue_hour WHERE workspace_id = @workspace_id AND hour < clock_timestamp() - interval '2 days';
