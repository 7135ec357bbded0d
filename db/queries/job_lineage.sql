-- Jobs that agents filed, by the first job of their chain.

-- name: JobLineage :one
SELECT coalesce(j.root_id, j.id)::uuid AS root_id, j.depth, coalesce((SELECT r.key FROM job r
    WHERE r.workspace_id = j.workspace_id AND r.id = coalesce(j.root_id, j.id)), '')::text AS root_key
FROM job j WHERE j.workspace_id = @workspace_id AND j.id = @id;

-- name: JobLineageSave :exec
UPDATE job SET root_id = @root_id, depth = @depth WHERE workspace_id = @workspace_id AND id = @id;

-- name: JobRootLoad :one
-- How many jobs below a root are open, up to the most that may be, and in how many seconds
-- the job with so many newer ones is an hour old; below 0 where it is older.
SELECT (SELECT count(*) FROM (SELECT FROM job j WHERE j.workspace_id = @workspace_id AND j.root_id = @root_id::uuid
        AND j.status NOT IN ('completed', 'failed', 'aborted', 'archived') LIMIT @most_open) o)::int AS open,
    coalesce((SELECT extract(epoch FROM j.created_at + interval '1 hour' - clock_timestamp()) FROM job j
        WHERE j.workspace_id = @workspace_id AND j.root_id = @root_id::uuid
        ORDER BY j.workspace_id DESC, j.root_id DESC, j.created_at DESC LIMIT 1 OFFSET @newer::int), 0)::float8 AS wait_seconds;
