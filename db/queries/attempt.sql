-- name: AttemptList :many
SELECT * FROM attempt WHERE workspace_id = @workspace_id AND job_id = @job_id ORDER BY epoch DESC LIMIT 200;

-- name: AttemptsOfAgent :many
-- The attempts of an agent before a place, the newest first, with the keys of their
-- jobs and, while they last, what their leases know. Both are looked up row by row:
-- as joins they would be read from end to end where statistics are missing.
SELECT sqlc.embed(a), j.key AS job_key, l.epoch AS lease_epoch, l.progress_percent AS lease_progress_percent,
    coalesce(l.current_step, '')::text AS lease_current_step, coalesce(l.checkpoint, j.checkpoint) AS lease_checkpoint
FROM attempt a
CROSS JOIN LATERAL (SELECT x.key, x.checkpoint FROM job x WHERE x.workspace_id = a.workspace_id AND x.id = a.job_id OFFSET 0) j
CROSS JOIN LATERAL (
    SELECT x.* FROM (SELECT 1) one LEFT JOIN job_lease x
        ON a.outcome = '' AND x.workspace_id = a.workspace_id AND x.job_id = a.job_id AND x.epoch = a.epoch OFFSET 0
) l
WHERE a.workspace_id = @workspace_id AND a.agent_id = @agent_id AND (@outcome::text = '' OR a.outcome = @outcome)
    AND (a.claimed_at, a.job_id, a.epoch) < (@before_at::timestamptz, @before_job::uuid, @before_epoch::bigint)
ORDER BY a.claimed_at DESC, a.job_id DESC, a.epoch DESC LIMIT @max_rows;

-- name: AttemptEnd :one
-- How an attempt ended, and the digest of the agent's call that ended it: none
-- where somebody else did.
SELECT agent, outcome, result_digest AS end_digest FROM attempt
WHERE workspace_id = @workspace_id AND job_id = @job_id AND epoch = @epoch;

-- name: AttemptReject :exec
-- The work that an attempt handed in was sent back.
UPDATE attempt SET outcome = 'rejected'
WHERE workspace_id = @workspace_id AND job_id = @job_id AND epoch = @epoch AND outcome = 'completed';

-- name: AttemptAccept :exec
-- That the work was sent back is undone.
UPDATE attempt SET outcome = 'completed'
WHERE workspace_id = @workspace_id AND job_id = @job_id AND epoch = @epoch AND outcome = 'rejected';

-- name: AttemptSubmit :one
-- Counts a job that an agent created; no row where it has created the most it may.
UPDATE attempt SET submitted = submitted + 1
WHERE workspace_id = @workspace_id AND job_id = @job_id AND epoch = @epoch AND submitted < @most::int
RETURNING submitted;

-- name: AttemptEnds :many
-- How the last attempts of a job before an epoch ended, the newest first.
SELECT outcome, error_kind FROM attempt
WHERE workspace_id = @workspace_id AND job_id = @job_id AND epoch < @before_epoch
ORDER BY epoch DESC LIMIT @max_rows;

-- name: AttemptDelivery :one
-- What is told of the commit of an attempt, locked, and whether the attempt was one of this
-- agent or of another one of its factory.
SELECT a.delivery, a.delivery_branch, a.delivery_commit, a.delivery_detail, a.delivery_at, a.delivery_tellings,
    EXISTS (SELECT FROM agent x JOIN agent y ON y.workspace_id = x.workspace_id AND y.factory_id = x.factory_id
        WHERE x.workspace_id = a.workspace_id AND x.id = a.agent_id AND y.id = @agent_id)::boolean AS is_ours
FROM attempt a WHERE a.workspace_id = @workspace_id AND a.job_id = @job_id AND a.epoch = @epoch
FOR NO KEY UPDATE OF a;

-- name: AttemptDeliver :one
-- Keeps what is told of the commit of an attempt.
UPDATE attempt SET delivery = @delivery, delivery_branch = @branch, delivery_commit = @commit, delivery_detail = @detail,
    delivery_at = clock_timestamp(), delivery_tellings = delivery_tellings + 1
WHERE workspace_id = @workspace_id AND job_id = @job_id AND epoch = @epoch
RETURNING delivery_at::timestamptz AS at;

-- name: AttemptDeliveryOfJob :one
-- What is told of the commit of the last attempt on a job.
SELECT a.delivery, a.delivery_branch, a.delivery_commit, a.delivery_detail, a.delivery_at, a.factory FROM attempt a
JOIN job j ON j.workspace_id = a.workspace_id AND j.id = a.job_id AND j.epoch = a.epoch
WHERE a.workspace_id = @workspace_id AND a.job_id = @job_id;
