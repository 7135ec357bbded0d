-- Requests to the agents of running jobs to give their seats to more urgent ones. No statement here waits
-- for a job or a lease that somebody else has locked.

-- name: PreemptWorkspaces :many
-- The workspaces in which urgent jobs are given seats of running ones, and by what gap; 0 where only
-- requests are left from before.
SELECT d.workspace_id, d.preempt_gap FROM dispatch_setting d WHERE d.preempt_gap > 0
UNION ALL
SELECT DISTINCT p.workspace_id, 0::smallint FROM preemption p WHERE NOT EXISTS (SELECT FROM dispatch_setting d
    WHERE d.workspace_id = p.workspace_id AND d.preempt_gap > 0);

-- name: PreemptTryLock :one
-- Whether nobody else decides about the workspace's requests. Until the transaction ends nobody can.
SELECT pg_try_advisory_xact_lock(hashtextextended('preempt:' || @workspace::text, 0))::boolean AS free;

-- name: PreemptionsAsked :many
-- The requests that stand, with what decides whether they stay so.
SELECT p.victim_id, p.job_id, (p.expires_at <= clock_timestamp())::boolean AS expired,
    coalesce(l.directive = 'pause' AND l.directive_by_kind = 'system' AND l.directive_by_id = 'preemption', false)::boolean AS directed,
    coalesce(l.follows, false)::boolean AS follows, (l.job_id IS NOT NULL)::boolean AS held,
    (j.priority - v.priority)::int AS gap, (r.job_id IS NOT NULL)::boolean AS ready
FROM preemption p
CROSS JOIN LATERAL (SELECT k.priority FROM job k WHERE k.workspace_id = @workspace_id AND k.id = p.victim_id OFFSET 0) v
CROSS JOIN LATERAL (SELECT k.priority FROM job k WHERE k.workspace_id = @workspace_id AND k.id = p.job_id OFFSET 0) j
LEFT JOIN LATERAL (SELECT x.job_id, x.directive, x.directive_by_kind, x.directive_by_id, x.follows FROM job_lease x
    WHERE x.workspace_id = @workspace_id AND x.job_id = p.victim_id AND x.epoch = p.victim_epoch OFFSET 0) l ON true
LEFT JOIN LATERAL (SELECT x.job_id FROM job_ready x WHERE x.workspace_id = @workspace_id AND x.job_id = p.job_id OFFSET 0) r ON true
WHERE p.workspace_id = @workspace_id AND p.state = 'asked' ORDER BY p.job_id LIMIT (SELECT @max_rows::int);

-- name: PreemptReady :many
-- The most urgent ready jobs for which a seat could be asked, in the order of claims: the first of each
-- lane that are urgent enough by themselves, whatever waiting has made of them.
SELECT c.job_id, (c.priority - c.raised)::int AS priority
FROM lane n CROSS JOIN LATERAL (SELECT r.job_id, r.priority, r.raised, r.place, r.tie_break FROM job_ready r
    WHERE r.workspace_id = @workspace_id AND r.lane_id = n.id AND r.priority >= @gap::smallint
    ORDER BY r.priority DESC, r.place, r.tie_break LIMIT (SELECT @max_each::int)) c
WHERE n.workspace_id = @workspace_id AND c.priority - c.raised >= @gap::smallint
ORDER BY c.priority DESC, c.place, c.tie_break LIMIT (SELECT @max_rows::int);

-- name: PreemptVictims :many
-- Running jobs on seats of factories that could be asked to give them, those that lose the least work
-- first: whose checkpoint is the newest, then whose attempt is the youngest. A job that was asked before
-- has made progress since.
SELECT l.job_id, l.epoch, l.agent_id, l.factory, j.priority
FROM unnest(@factories::uuid[]) AS f(id)
CROSS JOIN LATERAL (SELECT x.job_id, x.epoch, x.agent_id, x.factory, x.directive, x.follows, x.expires_at, x.checkpoint_at,
        x.claimed_at, x.progress_percent FROM job_lease x
    WHERE x.workspace_id = @workspace_id AND x.factory_id = f.id OFFSET 0) l
CROSS JOIN LATERAL (SELECT k.priority, k.status, k.kind FROM job k WHERE k.workspace_id = @workspace_id AND k.id = l.job_id OFFSET 0) j
CROSS JOIN LATERAL (SELECT x.heartbeat_interval_seconds FROM agent x WHERE x.workspace_id = @workspace_id AND x.id = l.agent_id OFFSET 0) a
LEFT JOIN LATERAL (SELECT x.victim_epoch, x.state, x.asked_at, x.percent FROM preemption x
    WHERE x.workspace_id = @workspace_id AND x.victim_id = l.job_id OFFSET 0) p ON true
WHERE l.directive IN ('', 'warn') AND NOT l.follows AND l.expires_at > clock_timestamp() AND l.checkpoint_at IS NOT NULL
    AND coalesce(l.progress_percent, 0) < 100 AND j.status = 'running' AND j.kind NOT IN ('merge', 'verify')
    AND j.priority <= @max_priority::int AND a.heartbeat_interval_seconds <= @max_silence::int
    AND (p.state IS NULL OR p.state <> 'asked' AND NOT (p.victim_epoch = l.epoch AND p.state IN ('expired', 'kept'))
        AND (l.progress_percent > p.percent OR l.checkpoint_at > greatest(p.asked_at, CASE WHEN p.victim_epoch = l.epoch THEN p.asked_at
            ELSE l.claimed_at + make_interval(secs => @settled_seconds::int) END)))
ORDER BY l.checkpoint_at DESC, l.claimed_at DESC, l.job_id LIMIT (SELECT @max_rows::int);

-- name: PreemptionsAsk :many
-- Asks agents for seats, by the directive to pause, and appends an event for both jobs of each: as far as
-- the jobs are as they were looked at, and nobody has locked the victims or their leases. It gives the
-- victims of what it asked.
WITH wanted AS MATERIALIZED (
    SELECT unnest(@victims::uuid[]) AS victim_id, unnest(@epochs::bigint[]) AS epoch, unnest(@jobs::uuid[]) AS job_id
), found AS MATERIALIZED (
    SELECT l.job_id AS victim_id, l.epoch, l.directive, coalesce(l.progress_percent, -1) AS percent, w.job_id, j.key AS victim,
        u.key, u.priority
    FROM wanted w JOIN job_lease l ON l.job_id = w.victim_id AND l.epoch = w.epoch
    JOIN job j ON j.workspace_id = l.workspace_id AND j.id = l.job_id
    CROSS JOIN LATERAL (SELECT k.key, k.priority FROM job k WHERE k.workspace_id = @workspace_id AND k.id = w.job_id
        AND k.status IS NOT DISTINCT FROM 'ready' OFFSET 0) u
    WHERE l.workspace_id = @workspace_id AND l.job_id = ANY(@victims::uuid[]) AND l.directive IN ('', 'warn') AND NOT l.follows
        AND l.expires_at > clock_timestamp() AND j.status IS NOT DISTINCT FROM 'running' AND j.priority <= u.priority - @gap::int
    FOR UPDATE OF l, j SKIP LOCKED
), kept AS (
    INSERT INTO preemption AS p (workspace_id, victim_id, victim_epoch, job_id, state, expires_at, percent)
    SELECT @workspace_id, f.victim_id, f.epoch, f.job_id, 'asked', clock_timestamp() + make_interval(secs => @stands_seconds::int), f.percent
    FROM found f
    ON CONFLICT (workspace_id, victim_id) DO UPDATE SET victim_epoch = excluded.victim_epoch, job_id = excluded.job_id,
        state = excluded.state, asked_at = excluded.asked_at, expires_at = excluded.expires_at, percent = excluded.percent
    RETURNING p.victim_id
), directed AS (
    UPDATE job_lease l SET directive = 'pause', directive_by = 'preemption', directive_by_kind = 'system', directive_by_id = 'preemption',
        directive_reason = f.key || ' (priority ' || f.priority
            || ') is more urgent and waits for this seat. Save a checkpoint and give the job back: it goes on from there.',
        grace_ends_at = NULL
    FROM found f WHERE l.workspace_id = @workspace_id AND l.job_id = f.victim_id
), told AS (
    INSERT INTO event (workspace_id, type, job_id, actor, actor_kind, actor_id, epoch, changes, payload)
    SELECT @workspace_id, 'job.preempt_asked', f.victim_id, 'preemption', 'system', 'preemption', f.epoch,
        jsonb_build_array(jsonb_build_object('field', 'directive', 'old', f.directive, 'new', 'pause')),
        jsonb_build_object('job', f.key, 'priority', f.priority)
    FROM found f
    UNION ALL
    SELECT @workspace_id, 'job.preempt_asked', f.job_id, 'preemption', 'system', 'preemption', NULL, '[]', jsonb_build_object('victim', f.victim)
    FROM found f
)
SELECT k.victim_id FROM kept k;

-- name: PreemptionsEnd :exec
-- Ends requests that stand, each with its new state, and takes the directives back of those that expired
-- or were withdrawn, as far as nobody has locked the job or its lease. The victims of these have an event,
-- and the jobs for which it was made have one as long as they are ready.
WITH over AS MATERIALIZED (
    SELECT unnest(@victims::uuid[]) AS victim_id, unnest(@states::text[]) AS state
), open AS MATERIALIZED (
    SELECT p.victim_id, p.victim_epoch, p.job_id, o.state FROM preemption p JOIN over o ON o.victim_id = p.victim_id
    WHERE p.workspace_id = @workspace_id AND p.victim_id = ANY(@victims::uuid[]) AND p.state = 'asked' FOR UPDATE OF p SKIP LOCKED
), found AS MATERIALIZED (
    SELECT l.job_id, l.epoch, o.job_id AS wanted_by, o.state FROM open o
    JOIN job_lease l ON l.job_id = o.victim_id AND l.epoch = o.victim_epoch
    JOIN job j ON j.workspace_id = l.workspace_id AND j.id = l.job_id
    WHERE l.workspace_id = @workspace_id AND l.job_id = ANY(@victims::uuid[]) AND o.state IN ('expired', 'withdrawn')
        AND l.directive = 'pause' AND l.directive_by_kind = 'system' AND l.directive_by_id = 'preemption'
    FOR UPDATE OF l, j SKIP LOCKED
), eased AS (
    UPDATE job_lease l SET directive = CASE WHEN l.warned_at IS NULL THEN '' ELSE 'warn' END, directive_reason = '', directive_by = '',
        directive_by_kind = '', directive_by_id = ''
    FROM found f WHERE l.workspace_id = @workspace_id AND l.job_id = f.job_id
    RETURNING l.job_id, l.directive
), ended AS (
    UPDATE preemption p SET state = o.state FROM open o
    WHERE p.workspace_id = @workspace_id AND p.victim_id = o.victim_id
        AND (o.state NOT IN ('expired', 'withdrawn') OR o.victim_id IN (SELECT f.job_id FROM found f))
    RETURNING p.victim_id, p.job_id, o.state
), told AS (
    INSERT INTO event (workspace_id, type, job_id, actor, actor_kind, actor_id, epoch, changes, payload)
    SELECT @workspace_id, 'job.preempt_withdrawn', f.job_id, 'preemption', 'system', 'preemption', f.epoch,
        jsonb_build_array(jsonb_build_object('field', 'directive', 'old', 'pause', 'new', e.directive)),
        jsonb_build_object('job', (SELECT k.key FROM job k WHERE k.workspace_id = @workspace_id AND k.id = f.wanted_by), 'why', f.state)
    FROM found f JOIN eased e ON e.job_id = f.job_id
)
INSERT INTO event (workspace_id, type, job_id, actor, actor_kind, actor_id, changes, payload)
SELECT @workspace_id, 'job.preempt_withdrawn', u.id, 'preemption', 'system', 'preemption', '[]',
    jsonb_build_object('victim', (SELECT k.key FROM job k WHERE k.workspace_id = @workspace_id AND k.id = x.victim_id), 'why', x.state)
FROM ended x CROSS JOIN LATERAL (SELECT k.id FROM job k WHERE k.workspace_id = @workspace_id AND k.id = x.job_id
    AND k.status IS NOT DISTINCT FROM 'ready' OFFSET 0) u;

-- name: PreemptionGive :many
-- Notes that a job whose lease is locked is given back as it was asked, and gives the key of the job for
-- which. No row where nothing is asked.
UPDATE preemption p SET state = 'given', percent = greatest(p.percent, (SELECT coalesce(l.progress_percent, -1) FROM job_lease l
    WHERE l.workspace_id = @workspace_id AND l.job_id = @victim_id))
FROM job j
WHERE p.workspace_id = @workspace_id AND p.victim_id = @victim_id AND p.victim_epoch = @epoch AND p.state = 'asked'
    AND j.workspace_id = p.workspace_id AND j.id = p.job_id
RETURNING j.key;

-- name: PreemptionsForget :execrows
-- Deletes ended requests, some at once, that say nothing any more: of finished jobs, and all where none are
-- made.
DELETE FROM preemption d WHERE d.workspace_id = @workspace_id AND d.state <> 'asked' AND d.victim_id IN (
    SELECT p.victim_id FROM preemption p CROSS JOIN LATERAL (SELECT k.status FROM job k
        WHERE k.workspace_id = @workspace_id AND k.id = p.victim_id OFFSET 0) j
    WHERE p.workspace_id = @workspace_id AND p.state <> 'asked'
        AND (@every::boolean OR j.status IN ('completed', 'failed', 'aborted', 'archived'))
    LIMIT (SELECT @max_rows::int));

-- name: PreemptionOfJob :many
-- The request that stands about a job, as the victim or as the one for which it is made, with both.
SELECT v.key AS victim, j.key AS job, p.asked_at, p.expires_at, coalesce(l.agent, '')::text AS agent, coalesce(l.factory, '')::text AS factory
FROM (SELECT x.* FROM preemption x WHERE x.workspace_id = @workspace_id AND x.victim_id = @id AND x.state = 'asked'
    UNION ALL SELECT x.* FROM preemption x WHERE x.workspace_id = @workspace_id AND x.job_id = @id AND x.state = 'asked') p
JOIN job v ON v.workspace_id = p.workspace_id AND v.id = p.victim_id
JOIN job j ON j.workspace_id = p.workspace_id AND j.id = p.job_id
LEFT JOIN job_lease l ON l.workspace_id = p.workspace_id AND l.job_id = p.victim_id AND l.epoch = p.victim_epoch;
