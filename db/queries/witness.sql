-- name: WitnessTail :many
-- What was committed after a place in the log, with as much of each event as tells it from another one
-- of its id. The key is read of a new job alone: that of another is in its row.
SELECT e.id, e.xid::text AS xid, e.at, e.type, e.job_id,
    CASE WHEN e.type = 'job.created' THEN coalesce((SELECT j.key FROM job j WHERE j.workspace_id = e.workspace_id AND j.id = e.job_id), '')
        ELSE '' END::text AS job_key
FROM event e
WHERE e.workspace_id = @workspace_id
    AND (e.xid, e.id) > (cast(sqlc.arg('after_xid')::text AS xid8), sqlc.arg('after_id')::bigint)
    AND e.xid < log_horizon()
ORDER BY e.workspace_id, e.xid, e.id LIMIT @max_rows;

-- name: WitnessPresent :many
-- Which of some events are there, and since when.
SELECT e.id, e.at FROM event e WHERE e.workspace_id = @workspace_id AND e.id = ANY(@ids::bigint[]);

-- name: WitnessKeys :many
-- The keys of jobs.
SELECT j.id, j.key FROM job j WHERE j.workspace_id = @workspace_id AND j.id = ANY(@ids::uuid[]);

-- name: WorkspaceExists :one
SELECT EXISTS (SELECT FROM workspace w WHERE w.id = @workspace_id);
