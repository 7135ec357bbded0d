-- name: AttemptStart :exec
UPDATE attempt SET started_at = coalesce(started_at, clock_timestamp())
WHERE workspace_id = @workspace_id AND job_id = @job_id AND epoch = @epoch;

-- name: AttemptList :many
SELECT * FROM attempt WHERE workspace_id = @workspace_id AND job_id = @job_id ORDER BY epoch DESC LIMIT 200;

-- name: AttemptGet :one
SELECT * FROM attempt WHERE workspace_id = @workspace_id AND job_id = @job_id AND epoch = @epoch;
