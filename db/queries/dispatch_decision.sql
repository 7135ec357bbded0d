-- name: DecisionInsert :exec
-- Keeps decisions about jobs that have got a lease in this transaction; of the others there is none.
INSERT INTO dispatch_decision (workspace_id, job_id, epoch, mode, chosen, chosen_by, best, class, why, snapshot_at, candidates)
SELECT @workspace_id, l.job_id, l.epoch, @mode, d.chosen, d.chosen_by, d.best, d.class, d.why, @snapshot_at, d.candidates::jsonb
FROM (SELECT unnest(@job_ids::uuid[]) AS job_id, unnest(@chosen::text[]) AS chosen, unnest(@chosen_by::text[]) AS chosen_by,
    unnest(@best::text[]) AS best, unnest(@classes::text[]) AS class, unnest(@why::text[]) AS why,
    unnest(@candidates::text[]) AS candidates) d
CROSS JOIN LATERAL (SELECT x.job_id, x.epoch FROM job_lease x WHERE x.workspace_id = @workspace_id AND x.job_id = d.job_id OFFSET 0) l
ON CONFLICT DO NOTHING;

-- name: DecisionsOfJob :many
SELECT epoch, at, mode, chosen, chosen_by, best, class, why, snapshot_at, candidates FROM dispatch_decision
WHERE workspace_id = @workspace_id AND job_id = @job_id ORDER BY epoch DESC LIMIT @max_rows;

-- name: DecisionCounts :many
-- How many of the newest decisions since a time are of each class, and how many of them there are.
SELECT d.class, count(*)::int AS decisions FROM (
    SELECT x.class FROM dispatch_decision x WHERE x.workspace_id = @workspace_id AND x.at >= @since
    ORDER BY x.at DESC LIMIT @max_scan) d
GROUP BY d.class;

-- name: DecisionExamples :many
-- The newest decisions since a time in which the factory that got the job was not the best one.
SELECT j.key, d.at, d.epoch, d.chosen, d.best, d.class, d.why FROM (
    SELECT x.job_id, x.at, x.epoch, x.chosen, x.best, x.class, x.why FROM dispatch_decision x
    WHERE x.workspace_id = @workspace_id AND x.at >= @since ORDER BY x.at DESC LIMIT @max_scan) d
CROSS JOIN LATERAL (SELECT k.key FROM job k WHERE k.workspace_id = @workspace_id AND k.id = d.job_id OFFSET 0) j
WHERE d.class NOT IN ('same', 'tie') ORDER BY d.at DESC LIMIT @max_rows;

-- name: DecisionExpire :execrows
DELETE FROM dispatch_decision d WHERE d.workspace_id = @workspace_id AND (d.job_id, d.epoch) IN (
    SELECT o.job_id, o.epoch FROM dispatch_decision o
    WHERE o.workspace_id = @workspace_id AND o.at < statement_timestamp() - make_interval(secs => @keep_seconds::float8)
    ORDER BY o.at LIMIT @max_rows);

-- name: ScoreFleet :many
-- Agents that live, of factories that have such: the first ones by name, and those of the agents that
-- ask. At most so many agents of each, those that ask first. Tokens limit what an agent may have by
-- products and capabilities.
WITH looked AS MATERIALIZED (
    (SELECT f.id FROM factory f WHERE f.workspace_id = @workspace_id AND f.ended_at IS NULL
        AND EXISTS (SELECT FROM agent a WHERE a.workspace_id = f.workspace_id AND a.factory_id = f.id
            AND a.last_heartbeat_at > clock_timestamp() - make_interval(secs => a.dead_after_seconds))
    ORDER BY f.name LIMIT @max_factories)
    UNION SELECT a.factory_id FROM agent a WHERE a.workspace_id = @workspace_id AND a.id = ANY(@asking::uuid[])
)
SELECT f.id AS factory_id, f.name AS factory, f.os, f.engines, f.capabilities AS factory_capabilities, f.repos, f.unavailable,
    f.seats AS factory_seats, f.draining, beside.taken AS factory_taken, a.id AS agent_id, a.name AS agent, a.model, a.provider, a.capabilities,
    a.max_concurrent_jobs AS seats, a.products, own.taken, own.follows, a.ending::boolean AS ending,
    coalesce(t.capabilities, '{}')::text[] AS scope,
    coalesce((SELECT true FROM provider_hold h WHERE h.workspace_id = @workspace_id AND h.provider = a.provider
        AND h.enrolment_id = coalesce(a.enrolment_id, '00000000-0000-0000-0000-000000000000')
        AND h.until > clock_timestamp()), false)::boolean AS held,
    clock_timestamp()::timestamptz AS now
FROM looked CROSS JOIN LATERAL (SELECT x.* FROM factory x WHERE x.workspace_id = @workspace_id AND x.id = looked.id OFFSET 0) f
CROSS JOIN LATERAL (SELECT count(*)::int AS taken FROM job_lease l WHERE l.workspace_id = @workspace_id AND l.factory_id = f.id
    AND NOT l.follows OFFSET 0) beside
CROSS JOIN LATERAL (SELECT x.id, x.name, x.model, x.provider, x.capabilities, x.max_concurrent_jobs, x.products, x.enrolment_id,
        (x.terminated_at IS NOT NULL) AS ending FROM agent x
    WHERE x.workspace_id = @workspace_id AND x.factory_id = f.id AND (x.terminated_at IS NULL OR x.ended_gracefully)
        AND x.last_heartbeat_at > clock_timestamp() - make_interval(secs => x.dead_after_seconds)
    ORDER BY x.id <> ALL(@asking::uuid[]), x.id LIMIT @max_agents) a
CROSS JOIN LATERAL (SELECT (count(*) FILTER (WHERE NOT l.follows))::int AS taken, (count(*) FILTER (WHERE l.follows))::int AS follows
    FROM job_lease l WHERE l.workspace_id = @workspace_id AND l.agent_id = a.id OFFSET 0) own
LEFT JOIN access_token t ON t.workspace_id = @workspace_id AND t.id = a.enrolment_id;

-- name: ScoreHistory :many
-- In which repos agents' factories worked last, how long ago, and how their attempts of the last
-- hour ended: of the last attempts of each agent.
SELECT g.factory_id::uuid AS factory_id, j.repo, min(extract(epoch FROM clock_timestamp() - coalesce(t.ended_at, clock_timestamp())))::float8 AS ago,
    (count(*) FILTER (WHERE t.recent AND t.outcome = 'completed'))::int AS completed,
    (count(*) FILTER (WHERE t.recent AND t.outcome IN ('failed', 'timeout')))::int AS failed,
    (count(*) FILTER (WHERE t.recent AND t.outcome = 'lost'))::int AS lost
FROM (SELECT unnest(@agents::uuid[]) AS agent_id, unnest(@factories::uuid[]) AS factory_id) g
CROSS JOIN LATERAL (SELECT a.job_id, a.outcome, a.ended_at, coalesce(a.ended_at > clock_timestamp() - interval '1 hour', false) AS recent
    FROM attempt a WHERE a.workspace_id = @workspace_id AND a.agent_id = g.agent_id
    ORDER BY a.claimed_at DESC, a.job_id DESC, a.epoch DESC LIMIT @max_attempts) t
CROSS JOIN LATERAL (SELECT k.repo FROM job k WHERE k.workspace_id = @workspace_id AND k.id = t.job_id OFFSET 0) j
GROUP BY 1, 2;

-- name: ScoreJobs :many
-- What is compared of jobs: with the ends of their last attempts, the newest first.
SELECT j.id, j.key, j.version, j.lane_id, j.repo, j.phase, j.tier, j.epoch, coalesce(extract(epoch FROM clock_timestamp() - j.ready_at), 0)::float8 AS waiting,
    p.id AS product_id, p.name AS product, p.models,
    (CASE WHEN j.epoch = 0 THEN '[]' ELSE coalesce((SELECT jsonb_agg(jsonb_build_object('factory', t.factory, 'ago', t.ago,
        'bad', t.outcome IN ('failed', 'timeout', 'lost')) ORDER BY t.epoch DESC)
        FROM (SELECT a.epoch, a.factory, a.outcome, extract(epoch FROM clock_timestamp() - a.ended_at) AS ago FROM attempt a
            WHERE a.workspace_id = @workspace_id AND a.job_id = j.id AND a.ended_at IS NOT NULL
            ORDER BY a.epoch DESC LIMIT @max_attempts) t), '[]') END)::jsonb AS attempts
FROM unnest(@ids::uuid[]) AS asked(id)
CROSS JOIN LATERAL (SELECT k.* FROM job k WHERE k.workspace_id = @workspace_id AND k.id = asked.id OFFSET 0) j
JOIN product p ON p.workspace_id = @workspace_id AND p.id = j.product_id;
