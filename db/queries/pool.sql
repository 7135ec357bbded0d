-- name: PoolList :many
-- The pools of a workspace by name, each with its factories that live, those that are being
-- started, the middle of its last cold starts, 0 where none was measured, and whether it has lacked
-- factories all the last ten minutes. A factory of which its scaler says that it has ended does not
-- live, though its heartbeats are not missed yet.
WITH offered AS MATERIALIZED (
    SELECT o.factory_id FROM job_offer o
    WHERE o.workspace_id = @workspace_id AND o.turn > 0 AND o.expires_at > statement_timestamp()
        AND EXISTS (SELECT FROM job_ready r WHERE r.workspace_id = @workspace_id AND r.job_id = o.job_id)
        AND EXISTS (SELECT FROM dispatch_setting s WHERE s.workspace_id = @workspace_id AND s.mode = 'targeted')
)
SELECT p.id, p.name, p.os, p.engines, p.capabilities, p.repos, p.seats, p.min_factories, p.max_factories, p.min_idle,
    p.cool_down_seconds, p.product_scope, p.tokens, p.created_at, p.updated_at,
    live.factories, live.draining, live.running, live.offered, start.starting, cold.seconds::double precision AS cold_start_seconds,
    recent.stalled
FROM pool p
CROSS JOIN LATERAL (
    SELECT (count(*) FILTER (WHERE m.lives AND NOT m.draining))::int AS factories,
        (count(*) FILTER (WHERE m.lives AND m.draining))::int AS draining, coalesce(sum(m.taken), 0)::int AS running,
        coalesce(sum(m.offered), 0)::int AS offered
    FROM (SELECT f.draining, EXISTS (SELECT 1 FROM agent a WHERE a.workspace_id = f.workspace_id AND a.factory_id = f.id
                AND a.terminated_at IS NULL
                AND a.last_heartbeat_at > clock_timestamp() - make_interval(secs => a.dead_after_seconds)
                AND NOT EXISTS (SELECT FROM pool_start o WHERE o.workspace_id = f.workspace_id AND o.factory = f.name
                    AND o.ended_at > a.registered_at)) AS lives,
            (SELECT count(*) FROM job_lease l WHERE l.workspace_id = f.workspace_id AND l.factory_id = f.id AND NOT l.follows) AS taken,
            (SELECT count(*) FROM offered o WHERE o.factory_id = f.id) AS offered
        FROM factory f WHERE f.workspace_id = p.workspace_id AND f.pool_id = p.id) m
) live
CROSS JOIN LATERAL (
    SELECT count(*)::int AS starting FROM pool_start s WHERE s.workspace_id = p.workspace_id AND s.pool_id = p.id
        AND s.registered_at IS NULL AND s.ended_at IS NULL
        AND s.started_at > clock_timestamp() - make_interval(secs => @start_seconds::int)
) start
CROSS JOIN LATERAL (
    SELECT coalesce(percentile_cont(0.5) WITHIN GROUP (ORDER BY n.seconds), 0) AS seconds
    FROM (SELECT extract(epoch FROM s.registered_at - s.started_at) AS seconds FROM pool_start s
        WHERE s.workspace_id = p.workspace_id AND s.pool_id = p.id AND s.registered_at IS NOT NULL ORDER BY s.started_at DESC, s.id LIMIT 20) n
) cold
CROSS JOIN LATERAL (
    SELECT (count(*) >= 8 AND bool_and(s.value > s.factories + s.starting))::boolean AS stalled FROM pool_sample s
    WHERE s.workspace_id = p.workspace_id AND s.pool_id = p.id AND s.at > clock_timestamp() - interval '10 minutes'
) recent
WHERE p.workspace_id = @workspace_id ORDER BY p.name;

-- name: PoolQueue :many
-- The lanes that have a claimable job and fit a pool, and how many jobs each has, counted up
-- to max_jobs. Lanes are found by skipping from one to the next; those of products that give
-- nothing now, or whose jobs name a factory, are left out, and so are jobs that are offered to a
-- factory.
WITH RECURSIVE head AS (
    (SELECT r.lane_id FROM job_ready r WHERE r.workspace_id = @workspace_id ORDER BY r.lane_id LIMIT 1)
    UNION ALL
    SELECT (SELECT r.lane_id FROM job_ready r WHERE r.workspace_id = @workspace_id AND r.lane_id > h.lane_id ORDER BY r.lane_id LIMIT 1)
    FROM head h WHERE h.lane_id IS NOT NULL
), fit AS MATERIALIZED (
    SELECT n.id, n.needs, d.name AS product
    FROM head h
    JOIN lane n ON n.workspace_id = @workspace_id AND n.id = h.lane_id
    JOIN product d ON d.workspace_id = n.workspace_id AND d.id = n.product_id
    WHERE n.factory = '' AND NOT d.paused
        AND EXISTS (SELECT FROM pool p WHERE p.workspace_id = @workspace_id AND ARRAY(SELECT t FROM unnest(n.needs) t WHERE t NOT LIKE '!agent:%') <@ p.tokens
            AND (p.product_scope = '{}' OR d.name = ANY(p.product_scope)))
        AND NOT EXISTS (SELECT FROM fleet_stop s WHERE s.workspace_id = @workspace_id AND s.released_at IS NULL
            AND (s.product_id IS NULL OR s.product_id = d.id))
        AND NOT coalesce((SELECT count(*) FROM (SELECT FROM job v WHERE v.workspace_id = @workspace_id AND v.product_id = d.id
            AND v.status = 'in_review' LIMIT d.review_limit) counted) >= d.review_limit, false)
    ORDER BY n.id LIMIT @max_lanes
), offered AS MATERIALIZED (
    SELECT r.lane_id, count(*) AS jobs FROM job_offer o
    CROSS JOIN LATERAL (SELECT x.lane_id FROM job_ready x WHERE x.workspace_id = @workspace_id AND x.job_id = o.job_id OFFSET 0) r
    WHERE o.workspace_id = @workspace_id AND o.turn > 0 AND o.expires_at > statement_timestamp()
        AND EXISTS (SELECT FROM dispatch_setting s WHERE s.workspace_id = @workspace_id AND s.mode = 'targeted')
    GROUP BY r.lane_id
)
SELECT f.needs, f.product, greatest(0, c.jobs - coalesce((SELECT o.jobs FROM offered o WHERE o.lane_id = f.id), 0))::int AS jobs
FROM fit f CROSS JOIN LATERAL (SELECT count(*)::int AS jobs FROM (SELECT FROM job_ready r
    WHERE r.workspace_id = @workspace_id AND r.lane_id = f.id LIMIT @max_jobs) one) c
ORDER BY f.id;

-- name: PoolByName :one
SELECT p.* FROM pool p WHERE p.workspace_id = @workspace_id AND p.name = @name;

-- name: PoolLock :one
-- The pool of a name, so that nobody starts a factory for it, changes it or takes it away.
SELECT p.id FROM pool p WHERE p.workspace_id = @workspace_id AND p.name = @name FOR NO KEY UPDATE;

-- name: PoolCount :one
SELECT count(*)::int AS pools FROM pool p WHERE p.workspace_id = @workspace_id;

-- name: PoolSave :exec
INSERT INTO pool (workspace_id, id, name, os, engines, capabilities, repos, seats, min_factories, max_factories, min_idle,
    cool_down_seconds, product_scope, tokens)
VALUES (@workspace_id, @id, @name, @os, @engines, @capabilities, @repos, @seats, @min_factories, @max_factories, @min_idle,
    @cool_down_seconds, @product_scope, @tokens)
ON CONFLICT (workspace_id, name) DO UPDATE SET os = excluded.os, engines = excluded.engines, capabilities = excluded.capabilities,
    repos = excluded.repos, seats = excluded.seats, min_factories = excluded.min_factories, max_factories = excluded.max_factories,
    min_idle = excluded.min_idle, cool_down_seconds = excluded.cool_down_seconds, product_scope = excluded.product_scope,
    tokens = excluded.tokens, updated_at = now();

-- name: PoolLeave :exec
-- Takes a pool's factories out of it: factories are locked before their pool.
UPDATE factory f SET pool_id = NULL WHERE f.workspace_id = @workspace_id
    AND f.pool_id = (SELECT p.id FROM pool p WHERE p.workspace_id = @workspace_id AND p.name = @name);

-- name: PoolDelete :exec
DELETE FROM pool p WHERE p.workspace_id = @workspace_id AND p.id = @id;

-- name: PoolMembers :many
-- The factories of a pool, by name, with whether they live and what their seats have.
SELECT f.name, f.host, f.seats, f.draining, f.ended_at, f.updated_at,
    EXISTS (SELECT FROM agent a WHERE a.workspace_id = f.workspace_id AND a.factory_id = f.id AND a.terminated_at IS NULL
        AND a.last_heartbeat_at > clock_timestamp() - make_interval(secs => a.dead_after_seconds)
        AND NOT EXISTS (SELECT FROM pool_start o WHERE o.workspace_id = f.workspace_id AND o.factory = f.name
            AND o.ended_at > a.registered_at))::boolean AS lives,
    (SELECT count(*) FROM job_lease l WHERE l.workspace_id = f.workspace_id AND l.factory_id = f.id AND NOT l.follows)::int AS taken
FROM factory f WHERE f.workspace_id = @workspace_id AND f.pool_id = @pool_id ORDER BY f.name LIMIT @max_rows;

-- name: PoolWorkspaces :many
-- For the system role: the workspaces that have a pool.
SELECT DISTINCT p.workspace_id FROM pool p;

-- name: PoolSampleSave :exec
INSERT INTO pool_sample (workspace_id, pool_id, at, queued, running, value, factories, starting)
VALUES (@workspace_id, @pool_id, date_trunc('minute', clock_timestamp()), @queued, @running, @value, @factories, @starting)
ON CONFLICT (workspace_id, pool_id, at) DO NOTHING;

-- name: PoolSampleExpire :exec
DELETE FROM pool_sample s WHERE s.workspace_id = @workspace_id AND s.pool_id = @pool_id AND s.at < clock_timestamp() - interval '1 day';

-- name: PoolSamples :many
-- The demand of the last two hours in steps of five minutes, each with the most that there was.
SELECT b.at::timestamptz AS at, (count(s.at) > 0)::boolean AS known, coalesce(max(s.queued), 0)::int AS queued,
    coalesce(max(s.running), 0)::int AS running, coalesce(max(s.value), 0)::int AS value,
    coalesce(max(s.factories), 0)::int AS factories, coalesce(max(s.starting), 0)::int AS starting
FROM (SELECT date_bin('5 minutes', clock_timestamp(), 'epoch') - n * interval '5 minutes' AS at FROM generate_series(0, 23) AS g(n)) b
LEFT JOIN pool_sample s ON s.workspace_id = @workspace_id AND s.pool_id = @pool_id
    AND s.at >= b.at AND s.at < b.at + interval '5 minutes'
GROUP BY b.at ORDER BY b.at;
