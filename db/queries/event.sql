-- name: EventAppend :exec
INSERT INTO event (workspace_id, type, job_id, actor, actor_kind, epoch, changes, payload)
VALUES (@workspace_id, @type, sqlc.narg('job_id'), @actor, @actor_kind, sqlc.narg('epoch'), @changes, @payload);

-- name: EventOfJob :many
SELECT id, xid::text AS xid, type, job_id, actor, actor_kind, epoch, at, changes, payload FROM event
WHERE workspace_id = @workspace_id AND job_id = @job_id::uuid
    AND (@before::bigint = 0 OR id < @before)
ORDER BY id DESC LIMIT @max_rows;

-- name: EventTail :many
-- What was committed after a place in the log, up to the oldest transaction
-- that still runs: below it nothing can appear any more.
SELECT e.id, e.xid::text AS xid, e.type, e.job_id, j.key AS job_key, e.actor, e.actor_kind, e.epoch, e.at,
    e.changes, e.payload
FROM event e LEFT JOIN job j ON j.workspace_id = e.workspace_id AND j.id = e.job_id
WHERE e.workspace_id = @workspace_id
    AND (e.xid, e.id) > (cast(sqlc.arg('after_xid')::text AS xid8), sqlc.arg('after_id')::bigint)
    AND e.xid < pg_snapshot_xmin(pg_current_snapshot())
ORDER BY e.workspace_id, e.xid, e.id LIMIT @max_rows;

-- name: EventHead :one
-- The place after everything that can no longer change.
SELECT pg_snapshot_xmin(pg_current_snapshot())::text AS xid;
