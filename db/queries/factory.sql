-- name: FactoryEnsure :execrows
-- A factory that is not there belongs to whoever describes it first. FactoryDescribe
-- has to follow in the same transaction.
INSERT INTO factory (workspace_id, id, name, enrolment_id)
VALUES (@workspace_id, @id, @name, sqlc.narg('enrolment_id'))
ON CONFLICT (workspace_id, name) DO NOTHING;

-- name: FactoryOwner :one
SELECT f.id, f.enrolment_id, EXISTS (SELECT FROM job_lease l JOIN job_secret s ON s.workspace_id = l.workspace_id AND s.job_id = l.job_id
        WHERE l.workspace_id = f.workspace_id AND l.factory_id = f.id)::boolean AS secret_held
FROM factory f WHERE f.workspace_id = @workspace_id AND f.name = @name FOR NO KEY UPDATE;

-- name: FactoryDescribe :exec
-- Writes only what differs.
UPDATE factory SET os = @os, host = @host, engines = @engines, capabilities = @capabilities, repos = @repos,
    unavailable = @unavailable, rescued = @rescued, seats = @seats, enrolment_id = sqlc.narg('enrolment_id'),
    pool_id = sqlc.narg('pool_id'), updated_at = now()
WHERE workspace_id = @workspace_id AND id = @id
    AND (os, host, engines, capabilities, repos, unavailable, rescued, seats, enrolment_id, pool_id)
        IS DISTINCT FROM (@os, @host, @engines, @capabilities, @repos::jsonb, @unavailable::jsonb, @rescued::jsonb, @seats,
            sqlc.narg('enrolment_id'), sqlc.narg('pool_id'));

-- name: FactoryBegin :exec
-- An agent has registered in it, so that it has not ended.
UPDATE factory SET ended_at = NULL WHERE workspace_id = @workspace_id AND id = @id AND ended_at IS NOT NULL;

-- name: FactoryHold :one
-- The factory of a name, so that none of its agents registers or ends meanwhile.
SELECT f.id FROM factory f WHERE f.workspace_id = @workspace_id AND f.name = @name FOR NO KEY UPDATE;

-- name: FactoryEnd :exec
-- Notes that a factory has ended, where none of its agents lives.
UPDATE factory f SET ended_at = clock_timestamp()
WHERE f.workspace_id = @workspace_id AND f.id = @id AND NOT EXISTS (SELECT FROM agent a
    WHERE a.workspace_id = f.workspace_id AND a.factory_id = f.id AND (a.terminated_at IS NULL OR a.ended_gracefully)
        AND a.last_heartbeat_at > clock_timestamp() - make_interval(secs => a.dead_after_seconds));

-- name: FactoryElsewhere :many
-- The agents of a factory that registered on another host and did not end since, but for one
-- boot of one agent; all are locked. Those that are late enough to be stale have lost the factory.
SELECT a.id, a.name, a.host, a.registered_at, a.last_heartbeat_at,
    (agent_health(a.last_heartbeat_at, a.dead_after_seconds, clock_timestamp()) IN ('stale', 'dead'))::boolean AS stale,
    (a.last_heartbeat_at + make_interval(secs => a.dead_after_seconds / 3.0))::timestamptz AS stale_at
FROM agent a
WHERE a.workspace_id = @workspace_id AND a.factory_id = @factory_id AND a.host <> '' AND a.host <> ALL(@hosts::text[])
    AND (a.terminated_at IS NULL OR a.ended_gracefully) AND NOT (a.name = @agent AND a.boot_id = @boot_id)
ORDER BY a.id FOR UPDATE;

-- name: FactoryUpdate :many
-- What an agent says of its factory in a heartbeat; nothing where the factory belongs
-- to an enrolment token whose reach the agent's own does not cover. Writes only what
-- differs: a heartbeat that repeats itself costs nothing. Where the factory's agents, or
-- this one, hold jobs with secrets nothing is written until the description is redacted:
-- the answer is the factory then.
WITH secret AS MATERIALIZED (
    SELECT k.id FROM factory k WHERE k.workspace_id = @workspace_id AND k.name = @name AND NOT @redacted::boolean
        AND (EXISTS (SELECT FROM job_lease l JOIN job_secret s ON s.workspace_id = l.workspace_id AND s.job_id = l.job_id
                WHERE l.workspace_id = k.workspace_id AND l.factory_id = k.id)
            OR EXISTS (SELECT FROM job_lease l JOIN job_secret s ON s.workspace_id = l.workspace_id AND s.job_id = l.job_id
                WHERE l.workspace_id = k.workspace_id AND l.agent_id = @agent_id))
), described AS (
    UPDATE factory f SET os = @os, host = @host, engines = @engines, capabilities = @capabilities, repos = @repos,
        unavailable = @unavailable, rescued = @rescued, seats = @seats, updated_at = now()
    WHERE f.workspace_id = @workspace_id AND f.name = @name AND NOT EXISTS (SELECT FROM secret)
        AND (f.os, f.host, f.engines, f.capabilities, f.repos, f.unavailable, f.rescued, f.seats)
            IS DISTINCT FROM (@os, @host, @engines, @capabilities, @repos::jsonb, @unavailable::jsonb, @rescued::jsonb, @seats)
        AND (f.enrolment_id IS NOT DISTINCT FROM sqlc.narg('enrolment_id')::uuid
            OR NOT EXISTS (SELECT FROM access_token t
                WHERE t.workspace_id = f.workspace_id AND t.id = f.enrolment_id AND t.revoked_at IS NULL
                    AND NOT ((cardinality(@scope_products::text[]) = 0 OR t.products <> '{}' AND t.products <@ @scope_products::text[])
                        AND (cardinality(@scope_capabilities::text[]) = 0
                            OR t.capabilities <> '{}' AND t.capabilities <@ @scope_capabilities::text[]))))
)
SELECT secret.id FROM secret;

-- name: FactoryList :many
SELECT f.id, f.name, f.os, f.host, f.engines, f.capabilities, f.repos, f.unavailable, f.rescued, f.seats, f.draining,
    f.drained_by, f.drained_at, f.ended_at, f.created_at, f.updated_at, clock_timestamp()::timestamptz AS now,
    coalesce((SELECT p.name FROM pool p WHERE p.workspace_id = f.workspace_id AND p.id = f.pool_id), '')::text AS pool
FROM factory f WHERE f.workspace_id = @workspace_id ORDER BY f.name;

-- name: FactorySetDraining :one
UPDATE factory SET draining = @draining,
    drained_by = CASE WHEN @draining THEN @actor::text ELSE '' END,
    drained_at = CASE WHEN @draining THEN now() END, updated_at = now()
WHERE workspace_id = @workspace_id AND name = @name AND draining <> @draining
RETURNING id;

-- name: FactoryLock :one
-- The factory of a name, so that nobody registers in it and its agents take nothing.
SELECT f.id FROM factory f WHERE f.workspace_id = @workspace_id AND f.name = @name FOR UPDATE;

-- name: FactoryAgentsLock :many
-- A factory's agents, so that none of them gives a sign of life.
SELECT a.id, a.name, a.generation, ((a.terminated_at IS NOT NULL AND NOT a.ended_gracefully)
        OR agent_health(a.last_heartbeat_at, a.dead_after_seconds, clock_timestamp()) = 'dead')::boolean AS dead
FROM agent a WHERE a.workspace_id = @workspace_id AND a.factory_id = @factory_id ORDER BY a.id FOR UPDATE;

-- name: FactoryLease :one
-- The key of a job that was given to the factory or that one of its agents holds, '' where there is none.
SELECT coalesce((SELECT j.key FROM job_lease l JOIN job j ON j.workspace_id = l.workspace_id AND j.id = l.job_id
    WHERE l.workspace_id = @workspace_id AND (l.factory_id = @factory_id OR l.agent_id = ANY(@agents::uuid[]))
    ORDER BY l.number LIMIT 1), '')::text AS key;

-- name: FactoryDelete :exec
-- With its agents.
DELETE FROM factory WHERE workspace_id = @workspace_id AND id = @id;
