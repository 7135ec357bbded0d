-- Heartbeats and reports, in batches. No statement here waits for a row that somebody
-- else has locked: it is left out, and its request runs again alone, after the
-- statements of lock.sql have waited for it. Ids are handed on as arrays:
-- whatever the statistics say, rows are found by them, and no row is looked for a
-- second time with another result where it was changed meanwhile.

-- name: AgentsBeat :many
-- Signs of life, and the longer right to go on for the live leases of these agents that
-- they list: one row for each live lease, listed or not, or one without: its job is nil then.
-- An agent is left out where its row is locked or is not there. One of which a listed lease is
-- locked is busy; of it nothing is written, as of one with another boot or a newer generation
-- of tokens. A number below zero is one that was not said, also in the answer.
WITH said AS MATERIALIZED (
    SELECT unnest(@ids::uuid[]) AS id, unnest(@boot_ids::text[]) AS boot_id, unnest(@generations::bigint[]) AS generation,
        unnest(@statuses::text[]) AS status, unnest(@memory_mb::int[]) AS memory_mb, unnest(@cpu_percent::real[]) AS cpu_percent
), named AS MATERIALIZED (
    SELECT unnest(@lease_agents::uuid[]) AS agent_id, unnest(@lease_epochs::bigint[]) AS epoch, unnest(@lease_jobs::text[]) AS job
), held AS MATERIALIZED (
    SELECT a.id FROM agent a WHERE a.workspace_id = @workspace_id AND a.id = ANY(@ids::uuid[])
    ORDER BY a.id FOR NO KEY UPDATE SKIP LOCKED
), live AS MATERIALIZED (
    SELECT l.job_id, l.agent_id, l.epoch, l.expires_at, l.directive, l.directive_reason, l.progress_percent, l.current_step
    FROM job_lease l
    WHERE l.workspace_id = @workspace_id AND l.agent_id = ANY(ARRAY(SELECT h.id FROM held h)) AND l.expires_at > clock_timestamp()
), work AS MATERIALIZED (
    SELECT j.id, j.key, j.answer, j.status FROM job j
    WHERE j.workspace_id = @workspace_id AND j.id = ANY(ARRAY(SELECT v.job_id FROM live v))
), listed AS MATERIALIZED (
    SELECT v.job_id, v.agent_id FROM live v JOIN work w ON w.id = v.job_id
    WHERE (v.agent_id, v.epoch, w.key) IN (SELECT n.agent_id, n.epoch, n.job FROM named n)
        OR (v.agent_id, v.epoch, v.job_id::text) IN (SELECT n.agent_id, n.epoch, n.job FROM named n)
), kept AS MATERIALIZED (
    SELECT l.job_id FROM job_lease l
    WHERE l.workspace_id = @workspace_id AND l.job_id = ANY(ARRAY(SELECT i.job_id FROM listed i)) AND l.expires_at > clock_timestamp()
    ORDER BY l.job_id FOR UPDATE SKIP LOCKED
), busy AS MATERIALIZED (
    SELECT DISTINCT i.agent_id FROM listed i WHERE i.job_id NOT IN (SELECT k.job_id FROM kept k)
), beat AS (
    UPDATE agent a SET last_heartbeat_at = clock_timestamp(), status = s.status,
        memory_mb = CASE WHEN s.memory_mb < 0 THEN a.memory_mb ELSE s.memory_mb END,
        cpu_percent = CASE WHEN s.cpu_percent < 0 THEN a.cpu_percent ELSE s.cpu_percent END
    FROM said s, factory f
    WHERE a.workspace_id = @workspace_id AND a.id = ANY(ARRAY(SELECT h.id FROM held h)) AND a.id = s.id
        AND a.id <> ALL(ARRAY(SELECT b.agent_id FROM busy b)) AND a.boot_id = s.boot_id AND a.generation <= s.generation
        AND f.workspace_id = a.workspace_id AND f.id = a.factory_id
    RETURNING a.id, a.heartbeat_interval_seconds, (f.draining OR a.terminated_at IS NOT NULL) AS draining,
        CASE WHEN (SELECT d.mode FROM dispatch_setting d WHERE d.workspace_id = @workspace_id) = 'targeted' THEN (
            SELECT jsonb_agg(jsonb_build_object('job', j.key, 'expires_at', o.expires_at, 'score', o.score) ORDER BY o.expires_at)
            FROM (SELECT x.* FROM job_offer x WHERE x.workspace_id = @workspace_id AND x.factory_id = a.factory_id AND x.turn > 0
                AND x.expires_at > clock_timestamp() LIMIT 100) o
            CROSS JOIN LATERAL (SELECT k.key, k.product_id FROM job k WHERE k.workspace_id = @workspace_id AND k.id = o.job_id
                AND k.version = o.job_version AND k.status IS NOT DISTINCT FROM 'ready' OFFSET 0) j
            JOIN product p ON p.workspace_id = @workspace_id AND p.id = j.product_id
            WHERE a.products = '{}' OR p.name = ANY(a.products)) END AS offers
), extended AS (
    UPDATE job_lease l SET expires_at = greatest(l.expires_at, clock_timestamp() + make_interval(secs => l.ttl_seconds))
    WHERE l.workspace_id = @workspace_id
        AND l.job_id = ANY(ARRAY(SELECT i.job_id FROM listed i JOIN beat b ON b.id = i.agent_id))
    RETURNING l.job_id, l.agent_id, l.epoch, l.expires_at, l.directive, l.directive_reason, l.progress_percent, l.current_step
), known AS (
    SELECT x.* FROM extended x
    UNION ALL
    SELECT v.* FROM live v WHERE v.job_id NOT IN (SELECT i.job_id FROM listed i)
)
SELECT h.id AS agent_id, (b.id IS NOT NULL)::boolean AS heard, (h.id = ANY(ARRAY(SELECT u.agent_id FROM busy u)))::boolean AS busy,
    coalesce(b.heartbeat_interval_seconds, 0)::int AS heartbeat_interval_seconds, coalesce(b.draining, false)::boolean AS draining,
    coalesce(b.offers, '[]')::jsonb AS offers, clock_timestamp()::timestamptz AS now,
    coalesce(k.job_id, '00000000-0000-0000-0000-000000000000')::uuid AS job_id, coalesce(w.key, '')::text AS key,
    coalesce(w.answer, '')::text AS answer, coalesce(w.status, '')::text AS status, coalesce(k.epoch, 0)::bigint AS epoch,
    coalesce(k.expires_at, now())::timestamptz AS expires_at, coalesce(k.directive, '')::text AS directive,
    coalesce(k.directive_reason, '')::text AS directive_reason, coalesce(k.progress_percent, -1)::smallint AS progress_percent,
    coalesce(k.current_step, '')::text AS current_step
FROM held h LEFT JOIN beat b ON b.id = h.id LEFT JOIN (known k JOIN work w ON w.id = k.job_id) ON k.agent_id = b.id;

-- name: AgentsTouch :many
-- The agents that call with their present boot. A call is a sign of life, written
-- where nobody has locked the agent, at most every few seconds. No row: another boot,
-- a newer generation of tokens, or no such agent.
WITH calls AS MATERIALIZED (
    SELECT unnest(@ids::uuid[]) AS id, unnest(@boots::text[]) AS boot_id, unnest(@generations::bigint[]) AS generation
), known AS MATERIALIZED (
    SELECT a.id, c.boot_id, c.generation, a.last_heartbeat_at, (f.draining OR a.terminated_at IS NOT NULL) AS draining
    FROM agent a JOIN calls c ON c.id = a.id JOIN factory f ON f.workspace_id = a.workspace_id AND f.id = a.factory_id
    WHERE a.workspace_id = @workspace_id AND a.id = ANY(@ids::uuid[]) AND a.boot_id = c.boot_id AND a.generation <= c.generation
), due AS MATERIALIZED (
    SELECT a.id FROM agent a
    WHERE a.workspace_id = @workspace_id
        AND a.id = ANY(ARRAY(SELECT k.id FROM known k WHERE k.last_heartbeat_at < clock_timestamp() - interval '5 seconds'))
    ORDER BY a.id FOR NO KEY UPDATE SKIP LOCKED
), seen AS (
    UPDATE agent s SET last_heartbeat_at = clock_timestamp()
    WHERE s.workspace_id = @workspace_id AND s.id = ANY(ARRAY(SELECT d.id FROM due d))
)
SELECT k.id, k.boot_id::text AS boot_id, k.generation::bigint AS generation, k.draining::boolean AS draining FROM known k;

-- name: LeasesLock :many
-- Jobs that are reported on, and the leases on them that these agents have, which
-- are locked. A job is busy where somebody else has locked such a lease. Agents are
-- compared in a form that no index serves: leases are found by their jobs.
WITH held AS MATERIALIZED (
    SELECT l.job_id, l.epoch, l.agent_id, l.expires_at, l.progress_percent, l.current_step FROM job_lease l
    WHERE l.workspace_id = @workspace_id AND l.job_id = ANY(@job_ids::uuid[]) AND (l.agent_id = ANY(@agent_ids::uuid[])) IS TRUE
    ORDER BY l.job_id FOR UPDATE SKIP LOCKED
)
SELECT j.id, j.key, j.status, coalesce(h.agent_id, '00000000-0000-0000-0000-000000000000')::uuid AS agent_id, coalesce(h.epoch, 0)::bigint AS epoch,
    coalesce(h.expires_at > clock_timestamp(), false)::boolean AS live,
    coalesce(h.progress_percent, -1)::smallint AS progress_percent, coalesce(h.current_step, '')::text AS current_step,
    (h.job_id IS NULL AND EXISTS (SELECT FROM job_lease l WHERE l.workspace_id = j.workspace_id AND l.job_id = j.id
        AND (l.agent_id = ANY(@agent_ids::uuid[])) IS TRUE))::boolean AS busy
FROM job j LEFT JOIN held h ON h.job_id = j.id
WHERE j.workspace_id = @workspace_id AND j.id = ANY(@job_ids::uuid[]);

-- name: JobsWithSecrets :many
SELECT DISTINCT job_id FROM job_secret WHERE workspace_id = @workspace_id AND job_id = ANY(@ids::uuid[]);

-- name: LeasesReport :many
-- What agents report of leases that the transaction has locked, and the longer right
-- to go on: one row for each lease that is still the agent's own. What was not said is
-- a number below one, an empty checkpoint, or a step that is not told.
WITH said AS MATERIALIZED (
    SELECT unnest(@job_ids::uuid[]) AS job_id, unnest(@epochs::bigint[]) AS epoch, unnest(@agent_ids::uuid[]) AS agent_id,
        unnest(@ttl_seconds::int[]) AS ttl_seconds, unnest(@progress_percents::int[]) AS progress_percent,
        unnest(@steps::text[]) AS step, unnest(@tells_step::boolean[]) AS tells_step, unnest(@is_progress::boolean[]) AS is_progress,
        unnest(@checkpoints::text[]) AS checkpoint, unnest(@touches::boolean[]) AS touches
)
UPDATE job_lease l SET
    expires_at = greatest(l.expires_at, clock_timestamp()
        + make_interval(secs => CASE WHEN s.ttl_seconds < 1 THEN l.ttl_seconds ELSE s.ttl_seconds END)),
    ttl_seconds = CASE WHEN s.ttl_seconds < 1 THEN l.ttl_seconds ELSE s.ttl_seconds END,
    progress_percent = CASE WHEN s.progress_percent < 0 THEN l.progress_percent ELSE s.progress_percent END,
    current_step = CASE WHEN s.tells_step THEN s.step ELSE l.current_step END,
    checkpoint = CASE WHEN s.checkpoint = '' THEN l.checkpoint ELSE s.checkpoint::jsonb END,
    checkpoint_at = CASE WHEN s.checkpoint = '' THEN l.checkpoint_at ELSE clock_timestamp() END,
    progress_at = CASE WHEN s.is_progress THEN clock_timestamp() ELSE l.progress_at END,
    touches = l.touches OR s.touches
FROM said s
WHERE l.workspace_id = @workspace_id AND l.job_id = ANY(@job_ids::uuid[]) AND l.job_id = s.job_id AND l.epoch = s.epoch
    AND l.agent_id IS NOT DISTINCT FROM s.agent_id AND l.expires_at > clock_timestamp()
RETURNING l.job_id, l.expires_at, l.directive, l.directive_reason;

-- name: AttemptsStart :exec
-- Work has begun on these jobs, which are locked.
UPDATE attempt a SET started_at = coalesce(a.started_at, clock_timestamp())
FROM (SELECT unnest(@job_ids::uuid[]) AS job_id, unnest(@epochs::bigint[]) AS epoch) s
WHERE a.workspace_id = @workspace_id AND a.job_id = ANY(@job_ids::uuid[]) AND a.job_id = s.job_id AND a.epoch = s.epoch;

-- name: AttemptsModel :exec
-- What runs these attempts, whose leases are locked.
UPDATE attempt a SET engine = s.engine, model = s.model, model_why = s.model_why, tier = s.tier
FROM (SELECT unnest(@job_ids::uuid[]) AS job_id, unnest(@epochs::bigint[]) AS epoch, unnest(@engines::text[]) AS engine,
    unnest(@models::text[]) AS model, unnest(@model_whys::text[]) AS model_why, unnest(@tiers::text[]) AS tier) s
WHERE a.workspace_id = @workspace_id AND a.job_id = ANY(@job_ids::uuid[]) AND a.job_id = s.job_id AND a.epoch = s.epoch;

-- name: EventsAppend :exec
-- EventAppend of many facts of one type, each of a job and an agent.
INSERT INTO event (workspace_id, type, job_id, actor, actor_kind, actor_id, epoch, changes)
SELECT @workspace_id, @type, unnest(@job_ids::uuid[]), unnest(@actors::text[]), @actor_kind, unnest(@actor_ids::text[]),
    unnest(@epochs::bigint[]), unnest(@changes::text[])::jsonb;
