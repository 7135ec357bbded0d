-- name: AttemptStart :exec
UPDATE attempt SET started_at = coalesce(started_at, clock_timestamp())
WHERE workspace_id = @workspace_id AND job_id = @job_id AND epoch = @epoch;

-- name: AttemptList :many
SELECT * FROM attempt WHERE workspace_id = @workspace_id AND job_id = @job_id ORDER BY epoch DESC LIMIT 200;

-- name: AttemptEnd :one
-- How an attempt ended, and the digest of the agent's call that ended it: none
-- where somebody else did.
SELECT agent, outcome, result_digest AS end_digest FROM attempt
WHERE workspace_id = @workspace_id AND job_id = @job_id AND epoch = @epoch;

-- name: AttemptReject :exec
-- The work that an attempt handed in was sent back.
UPDATE attempt SET outcome = 'rejected'
WHERE workspace_id = @workspace_id AND job_id = @job_id AND epoch = @epoch AND outcome = 'completed';

-- name: AttemptSubmit :one
-- Counts a job that an agent created; no row where it has created the most it may.
UPDATE attempt SET submitted = submitted + 1
WHERE workspace_id = @workspace_id AND job_id = @job_id AND epoch = @epoch AND submitted < @most::int
RETURNING submitted;
