-- name: StopList :many
-- What is stopped, the whole fleet first.
SELECT s.id, s.product_id, coalesce(p.name, '')::text AS product, s.hold, s.reason, s.by_kind, s.by_id, s.by_name, s.stopped_at
FROM fleet_stop s LEFT JOIN product p ON p.workspace_id = s.workspace_id AND p.id = s.product_id
WHERE s.workspace_id = @workspace_id AND s.released_at IS NULL ORDER BY s.product_id IS NOT NULL, p.name;

-- name: StopTryShare :one
-- Whether no stop is being written. Until the transaction ends none can be.
SELECT pg_try_advisory_xact_lock_shared(hashtextextended(@name::text, 0))::boolean AS shared;

-- name: StopSave :exec
-- Stops a product, or the whole fleet; what stands there already is replaced.
INSERT INTO fleet_stop (workspace_id, id, product_id, hold, reason, by_kind, by_id, by_name, stopped_at)
VALUES (@workspace_id, @id, sqlc.narg('product_id'), @hold, @reason, @by_kind, @by_id, @by_name, clock_timestamp())
ON CONFLICT (workspace_id, coalesce(product_id, '00000000-0000-0000-0000-000000000000')) DO UPDATE SET
    hold = excluded.hold, reason = excluded.reason, by_kind = excluded.by_kind, by_id = excluded.by_id, by_name = excluded.by_name,
    stopped_at = excluded.stopped_at, released_at = NULL;

-- name: StopRelease :exec
UPDATE fleet_stop SET released_at = now()
WHERE workspace_id = @workspace_id AND id = ANY(@ids::uuid[]) AND released_at IS NULL;

-- name: StopForget :exec
-- Deletes what was released once all goes on that it had paused.
DELETE FROM fleet_stop g WHERE g.workspace_id = @workspace_id AND g.released_at IS NOT NULL
    AND NOT EXISTS (SELECT FROM job_lease l JOIN job j ON j.workspace_id = l.workspace_id AND j.id = l.job_id
        WHERE l.workspace_id = @workspace_id AND l.directive_by_kind = 'system' AND l.directive_by = 'stop'
            AND (g.product_id IS NULL OR g.product_id = j.product_id))
    AND NOT EXISTS (SELECT FROM job j WHERE j.workspace_id = @workspace_id AND j.status = 'paused'
        AND j.status_by_kind = 'system' AND j.status_by_id = 'stop' AND (g.product_id IS NULL OR g.product_id = j.product_id));

-- name: StopWorkspaces :many
-- The workspaces in which something is stopped, or was and goes on. A hold of claims alone may
-- have taken the place of one of all, and what that paused goes on.
SELECT DISTINCT workspace_id FROM fleet_stop;

-- name: StopDirect :many
-- Directs the holders of jobs to pause that a stop covers, as far as nobody has locked the job
-- or its lease, and appends the event of each. A directive to pause or to cancel stays, but for one to
-- give the seat to another job. The reason is that of the product's stop, or else that of the whole
-- fleet.
WITH hold AS MATERIALIZED (
    SELECT s.product_id, s.by_name || ' stopped the work: ' || s.reason AS reason FROM fleet_stop s
    WHERE s.workspace_id = @workspace_id AND s.hold = 'all' AND s.released_at IS NULL
), found AS MATERIALIZED (
    SELECT l.job_id, l.epoch, l.directive,
        (SELECT h.reason FROM hold h WHERE h.product_id IS NULL OR h.product_id = j.product_id ORDER BY h.product_id LIMIT 1) AS reason
    FROM job_lease l JOIN job j ON j.workspace_id = l.workspace_id AND j.id = l.job_id
    WHERE l.workspace_id = @workspace_id AND l.expires_at > clock_timestamp()
        AND (l.directive IN ('', 'warn') OR l.directive = 'pause' AND l.directive_by_kind = 'system' AND l.directive_by_id = 'preemption')
        AND EXISTS (SELECT FROM hold h WHERE h.product_id IS NULL OR h.product_id = j.product_id)
    ORDER BY l.job_id LIMIT @max_rows FOR UPDATE OF l, j SKIP LOCKED
), directed AS (
    UPDATE job_lease l SET directive = 'pause', directive_reason = f.reason, directive_by = @actor::text,
        directive_by_kind = 'system', directive_by_id = @actor::text,
        grace_ends_at = clock_timestamp() + make_interval(secs => @grace_seconds::int)
    FROM found f WHERE l.workspace_id = @workspace_id AND l.job_id = f.job_id
    RETURNING l.job_id
), told AS (
    INSERT INTO event (workspace_id, type, job_id, actor, actor_kind, actor_id, epoch, changes, payload)
    SELECT @workspace_id, 'job.pause_requested', f.job_id, @actor::text, 'system', @actor::text, f.epoch,
        jsonb_build_array(jsonb_build_object('field', 'directive', 'old', f.directive, 'new', 'pause')),
        jsonb_build_object('reason', @actor::text, 'text', f.reason)
    FROM found f
)
SELECT d.job_id FROM directed d;

-- name: StopEase :many
-- Takes the directives of stops back that cover their jobs no more and were not answered yet.
WITH hold AS MATERIALIZED (
    SELECT s.product_id FROM fleet_stop s WHERE s.workspace_id = @workspace_id AND s.hold = 'all' AND s.released_at IS NULL
), found AS MATERIALIZED (
    SELECT l.job_id, l.epoch FROM job_lease l JOIN job j ON j.workspace_id = l.workspace_id AND j.id = l.job_id
    WHERE l.workspace_id = @workspace_id AND l.directive = 'pause' AND l.directive_by_kind = 'system' AND l.directive_by = 'stop'
        AND NOT EXISTS (SELECT FROM hold h WHERE h.product_id IS NULL OR h.product_id = j.product_id)
    ORDER BY l.job_id LIMIT @max_rows FOR UPDATE OF l, j SKIP LOCKED
), eased AS (
    UPDATE job_lease l SET directive = CASE WHEN l.warned_at IS NULL THEN '' ELSE 'warn' END, directive_reason = '', directive_by = '',
        directive_by_kind = '', directive_by_id = '', grace_ends_at = NULL
    FROM found f WHERE l.workspace_id = @workspace_id AND l.job_id = f.job_id
    RETURNING l.job_id, l.directive
), told AS (
    INSERT INTO event (workspace_id, type, job_id, actor, actor_kind, actor_id, epoch, changes)
    SELECT @workspace_id, 'job.resumed', f.job_id, @actor::text, 'system', @actor::text, f.epoch,
        jsonb_build_array(jsonb_build_object('field', 'directive', 'old', 'pause', 'new', e.directive))
    FROM found f JOIN eased e ON e.job_id = f.job_id
)
SELECT e.job_id FROM eased e;

-- name: JobsPausedByStop :many
-- The jobs that a stop has paused and no stop covers any more, but those that have used more
-- than their own ceilings: they go on once those are raised.
SELECT j.id FROM job j
WHERE j.workspace_id = @workspace_id AND j.status = 'paused' AND j.status_by_kind = 'system' AND j.status_by_id = 'stop'
    AND NOT EXISTS (SELECT FROM fleet_stop s WHERE s.workspace_id = j.workspace_id AND s.hold = 'all' AND s.released_at IS NULL
        AND (s.product_id IS NULL OR s.product_id = j.product_id))
    AND (coalesce(j.token_budget, j.budget_nanos) IS NULL OR NOT coalesce((
        SELECT sum(u.input_tokens + u.output_tokens + u.cache_read_tokens + u.cache_write_tokens + u.cache_write_1h_tokens) > j.token_budget
            OR sum(u.charged_nanos) > j.budget_nanos
        FROM job_usage u WHERE u.workspace_id = j.workspace_id AND u.job_id = j.id), false))
ORDER BY j.id LIMIT @max_rows;

-- name: LanesWithReady :many
-- The lanes that have a ready job.
SELECT n.id FROM lane n WHERE n.workspace_id = @workspace_id
    AND EXISTS (SELECT FROM job_ready r WHERE r.workspace_id = n.workspace_id AND r.lane_id = n.id);
