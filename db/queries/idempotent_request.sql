-- name: IdempotentRequestTake :execrows
-- Takes the key for a day; a second taker waits for the first to commit.
INSERT INTO idempotent_request (workspace_id, key, digest, job_ids)
VALUES (@workspace_id, @key, @digest, @job_ids)
ON CONFLICT (workspace_id, key) DO UPDATE
    SET digest = excluded.digest, job_ids = excluded.job_ids, created_at = now()
    WHERE idempotent_request.created_at < now() - interval '24 hours';

-- name: IdempotentRequestGet :one
SELECT digest, job_ids FROM idempotent_request WHERE workspace_id = @workspace_id AND key = @key;

-- name: JobRequestInsert :exec
INSERT INTO job_request (workspace_id, job_id, digest) SELECT @workspace_id, unnest(@job_ids::uuid[]), unnest(@digests::bytea[]);

-- name: JobRequestGet :many
SELECT digest FROM job_request WHERE workspace_id = @workspace_id AND job_id = @job_id;
