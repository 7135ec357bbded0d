-- name: LeaseDirect :execrows
-- Asks the holder to stop; the reaper does it for them when the grace is over.
UPDATE job_lease SET directive = @directive, directive_reason = @reason, directive_by = @actor,
    directive_by_kind = @actor_kind, directive_by_id = @actor_id,
    grace_ends_at = clock_timestamp() + make_interval(secs => @grace_seconds::int)
WHERE workspace_id = @workspace_id AND job_id = @job_id;

-- name: LeaseOfOrigin :one
-- Whether an agent holds, live, a job from which another one was discovered.
SELECT EXISTS (SELECT FROM job_dependency x
    JOIN job_lease l ON l.workspace_id = x.workspace_id AND l.job_id = x.depends_on_id
    WHERE x.workspace_id = @workspace_id AND x.job_id = @job_id AND x.type = 'discovered_from'
        AND l.agent_id = @agent_id AND l.expires_at > clock_timestamp())::boolean AS held;

-- name: LeaseLapsed :many
-- Leases that have to be taken back in one workspace: expired, of an agent that
-- is dead, or with a directive whose grace is over; and how many there are in all.
-- Dead agents are looked for apart, so that all leases are read in one go: by their
-- agents each one that has ended and cannot be removed yet is ten times as dear.
SELECT l.job_id, count(*) OVER ()::int AS lapsed FROM job_lease l
WHERE l.workspace_id = @workspace_id
    AND (l.expires_at <= clock_timestamp() OR l.grace_ends_at <= clock_timestamp()
        OR l.agent_id IN (SELECT a.id FROM agent a WHERE a.workspace_id = @workspace_id
            AND a.last_heartbeat_at <= clock_timestamp() - make_interval(secs => a.dead_after_seconds)))
ORDER BY l.expires_at, l.job_id LIMIT @max_rows;

-- name: LeaseLapsedWorkspaces :many
-- The workspaces in which LeaseLapsed would find something.
SELECT DISTINCT l.workspace_id FROM job_lease l
WHERE l.expires_at <= clock_timestamp() OR l.grace_ends_at <= clock_timestamp()
    OR (l.workspace_id, l.agent_id) IN (SELECT a.workspace_id, a.id FROM agent a
        WHERE a.last_heartbeat_at <= clock_timestamp() - make_interval(secs => a.dead_after_seconds));

-- name: LeaseLock :one
-- The lease of a job that is locked already, with what decides whether it has lapsed.
SELECT l.epoch, l.agent, l.directive, l.claimed_at, l.expires_at, l.warned_at, l.progress_at,
    (l.expires_at <= clock_timestamp())::boolean AS expired,
    coalesce(l.grace_ends_at <= clock_timestamp(), false)::boolean AS grace_over,
    (a.last_heartbeat_at <= clock_timestamp() - make_interval(secs => a.dead_after_seconds))::boolean AS agent_dead,
    clock_timestamp()::timestamptz AS now
FROM job_lease l
JOIN agent a ON a.workspace_id = l.workspace_id AND a.id = l.agent_id
WHERE l.workspace_id = @workspace_id AND l.job_id = @job_id
FOR UPDATE OF l;

-- name: LeaseWarn :execrows
-- Tells the holder that its estimate is long over, where it is told nothing else.
UPDATE job_lease SET directive = 'warn', directive_reason = @reason, directive_by = @actor,
    directive_by_kind = @actor_kind, directive_by_id = @actor_id, warned_at = clock_timestamp()
WHERE workspace_id = @workspace_id AND job_id = @job_id AND directive IN ('', 'warn') AND warned_at IS NULL;

-- name: LeaseToWarn :many
-- Leases that are older than the job's estimate and the patience beyond it, and
-- of which nothing is asked yet: those that the role may see. The estimate is
-- asked for each by its id, and only where the lease is old enough for any.
SELECT l.workspace_id, l.job_id FROM job_lease l
WHERE l.warned_at IS NULL AND l.directive IN ('', 'warn') AND l.expires_at > clock_timestamp()
    AND l.claimed_at <= clock_timestamp() - make_interval(mins => @patience_minutes::int)
    AND l.claimed_at <= clock_timestamp() - make_interval(mins => @patience_minutes::int)
        - (SELECT make_interval(mins => j.estimated_minutes) FROM job j WHERE j.workspace_id = l.workspace_id AND j.id = l.job_id)
ORDER BY l.claimed_at, l.job_id LIMIT @max_rows;

-- name: LeaseToTimeOut :many
-- Leases that were warned and have made no progress since for as long as given:
-- those that the role may see.
SELECT l.workspace_id, l.job_id FROM job_lease l
WHERE l.warned_at <= clock_timestamp() - make_interval(mins => @patience_minutes::int)
    AND (l.progress_at IS NULL OR l.progress_at <= clock_timestamp() - make_interval(mins => @patience_minutes::int))
ORDER BY l.warned_at, l.job_id LIMIT @max_rows;

-- name: LeaseJobsOfAgent :many
SELECT job_id FROM job_lease WHERE workspace_id = @workspace_id AND agent_id = @agent_id ORDER BY job_id;

-- name: LeaseState :one
-- A job's status beside the lease it has, without a lock.
SELECT j.id, j.key, j.status, j.epoch, l.epoch AS lease_epoch, l.agent_id, l.progress_percent, l.current_step,
    l.expires_at, clock_timestamp()::timestamptz AS now,
    EXISTS (SELECT FROM job_secret s WHERE s.workspace_id = j.workspace_id AND s.job_id = j.id) AS has_secrets
FROM job j LEFT JOIN job_lease l ON l.workspace_id = j.workspace_id AND l.job_id = j.id
WHERE j.workspace_id = @workspace_id AND (j.key = @key::text OR j.id = sqlc.narg('id')::uuid);

-- name: LeaseUndirect :exec
-- Takes a directive back that was not answered yet; a warning before it stands again.
UPDATE job_lease SET directive = CASE WHEN warned_at IS NULL THEN '' ELSE 'warn' END, directive_reason = '', directive_by = '',
    grace_ends_at = NULL
WHERE workspace_id = @workspace_id AND job_id = @job_id;
