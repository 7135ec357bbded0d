-- name: AgentLock :one
SELECT a.id, a.factory_id, a.boot_id, a.enrolment_id, (SELECT f.name FROM factory f
        WHERE f.workspace_id = a.workspace_id AND f.id = a.factory_id)::text AS factory,
    (a.terminated_at IS NOT NULL AND NOT a.ended_gracefully AND NOT a.has_ended)::boolean AS ended,
    EXISTS (SELECT FROM job_lease l JOIN job_secret s ON s.workspace_id = l.workspace_id AND s.job_id = l.job_id
        WHERE l.workspace_id = a.workspace_id AND l.agent_id = a.id)::boolean AS secret_held
FROM agent a WHERE a.workspace_id = @workspace_id AND a.name = @name FOR UPDATE;

-- name: AgentUpsert :one
-- ends_tokens is true where the tokens that the agent had are to end. The same boot
-- of an agent that a person ended stays ended. No row: an agent of this name with another
-- id has come meanwhile.
INSERT INTO agent (workspace_id, id, factory_id, name, model, provider, capabilities, max_concurrent_jobs,
    heartbeat_interval_seconds, stale_after_seconds, boot_id, products, enrolment_id, roles, host)
VALUES (@workspace_id, @id, @factory_id, @name, @model, @provider, @capabilities, @max_concurrent_jobs,
    @heartbeat_interval_seconds, sqlc.narg('stale_after_seconds'), @boot_id, @products, sqlc.narg('enrolment_id'), @roles, @host)
ON CONFLICT (workspace_id, name) DO UPDATE SET factory_id = excluded.factory_id, model = excluded.model,
    provider = CASE WHEN excluded.provider = '' AND agent.model = excluded.model THEN agent.provider ELSE excluded.provider END,
    capabilities = excluded.capabilities, max_concurrent_jobs = excluded.max_concurrent_jobs,
    heartbeat_interval_seconds = excluded.heartbeat_interval_seconds,
    stale_after_seconds = excluded.stale_after_seconds, boot_id = excluded.boot_id, products = excluded.products,
    status = 'idle', memory_mb = NULL, cpu_percent = NULL, last_heartbeat_at = now(), registered_at = now(),
    terminated_at = CASE WHEN agent.boot_id = excluded.boot_id AND NOT agent.has_ended THEN agent.terminated_at END,
    terminate_reason = CASE WHEN agent.boot_id = excluded.boot_id THEN agent.terminate_reason ELSE '' END,
    ended_gracefully = agent.ended_gracefully AND agent.boot_id = excluded.boot_id,
    cut_off_at = NULL, has_ended = false, enrolment_id = excluded.enrolment_id, roles = excluded.roles, host = excluded.host,
    generation = agent.generation + CASE WHEN @ends_tokens::boolean THEN 1 ELSE 0 END
WHERE agent.id = excluded.id
RETURNING id, generation;

-- name: AgentList :many
-- In no order, without what they hold: of thousands both cost more than the rest.
SELECT sqlc.embed(a), h.until AS held_until
FROM agent a LEFT JOIN provider_hold h ON h.workspace_id = a.workspace_id AND h.provider = a.provider AND h.until > clock_timestamp()
    AND h.enrolment_id = coalesce(a.enrolment_id, '00000000-0000-0000-0000-000000000000')
WHERE a.workspace_id = @workspace_id;

-- name: AgentCountPerHealth :many
-- Whoever was ended at once is dead, as in fleet.Agent.
SELECT h.health::text AS health, count(*)::int AS agents FROM (
    SELECT CASE WHEN a.has_ended THEN 'ended' WHEN a.terminated_at IS NOT NULL AND NOT a.ended_gracefully THEN 'dead'
        ELSE agent_health(a.last_heartbeat_at, a.dead_after_seconds, clock_timestamp()) END AS health
    FROM agent a WHERE a.workspace_id = @workspace_id) h
GROUP BY h.health;

-- name: AgentKinds :many
-- The different capabilities of the living agents of these factories; of the others
-- those of one living agent, one that takes jobs if there is any.
SELECT f.id AS factory_id, one.capabilities, one.ended FROM factory f CROSS JOIN LATERAL (
    SELECT a.capabilities, (a.terminated_at IS NOT NULL)::boolean AS ended FROM agent a
    WHERE a.workspace_id = f.workspace_id AND a.factory_id = f.id AND (a.terminated_at IS NULL OR a.ended_gracefully)
        AND a.last_heartbeat_at > clock_timestamp() - make_interval(secs => a.dead_after_seconds)
    ORDER BY a.terminated_at IS NOT NULL LIMIT 1) one
WHERE f.workspace_id = @workspace_id AND f.id <> ALL(@factories::uuid[])
UNION ALL
SELECT DISTINCT a.factory_id, a.capabilities, (a.terminated_at IS NOT NULL)::boolean FROM agent a
WHERE a.workspace_id = @workspace_id AND a.factory_id = ANY(@factories::uuid[]) AND (a.terminated_at IS NULL OR a.ended_gracefully)
    AND a.last_heartbeat_at > clock_timestamp() - make_interval(secs => a.dead_after_seconds);

-- name: AgentByName :one
SELECT sqlc.embed(a), f.name AS factory, clock_timestamp()::timestamptz AS now,
    h.until AS held_until,
    (SELECT count(*) FROM job_lease l WHERE l.workspace_id = a.workspace_id AND l.agent_id = a.id AND NOT l.follows)::int AS taken,
    (SELECT count(*) FROM job_lease l WHERE l.workspace_id = a.workspace_id AND l.agent_id = a.id AND l.follows)::int AS follows
FROM agent a JOIN factory f ON f.workspace_id = a.workspace_id AND f.id = a.factory_id
LEFT JOIN provider_hold h ON h.workspace_id = a.workspace_id AND h.provider = a.provider AND h.until > clock_timestamp()
    AND h.enrolment_id = coalesce(a.enrolment_id, '00000000-0000-0000-0000-000000000000')
WHERE a.workspace_id = @workspace_id AND a.name = @name;

-- name: LeaseCounts :many
-- How many seats the agents have taken, by the factory they took them for, and how many
-- pull requests they follow beside; and whether one of them has said which files it touches.
SELECT l.factory_id, l.agent_id, (count(*) FILTER (WHERE NOT l.follows))::int AS taken,
    (count(*) FILTER (WHERE l.follows))::int AS follows, bool_or(l.touches)::boolean AS touches FROM job_lease l
WHERE l.workspace_id = @workspace_id GROUP BY l.factory_id, l.agent_id;

-- name: AgentTerminate :one
-- Whoever was ended at once stays so.
UPDATE agent SET ended_gracefully = @graceful AND (terminated_at IS NULL OR ended_gracefully),
    terminated_at = coalesce(terminated_at, now()), terminate_reason = @reason, has_ended = false
WHERE workspace_id = @workspace_id AND name = @name
RETURNING id;

-- name: AgentEnd :one
-- An agent says that it ends. No row: another boot, or a newer generation of tokens. One that a
-- person ended stays so.
UPDATE agent SET has_ended = terminated_at IS NULL OR has_ended, terminated_at = coalesce(terminated_at, clock_timestamp()),
    ended_gracefully = false
WHERE workspace_id = @workspace_id AND id = @id AND boot_id = @boot_id AND generation <= @generation
RETURNING id;

-- name: AgentOutdate :one
-- Ends an agent that lives nowhere any more, and the tokens that it has.
UPDATE agent SET generation = generation + 1, host = '', has_ended = terminated_at IS NULL OR has_ended,
    terminated_at = coalesce(terminated_at, clock_timestamp()), ended_gracefully = false
WHERE workspace_id = @workspace_id AND id = @id RETURNING generation;
