-- name: IdempotentRequestTake :execrows
-- Takes the key for a day; a second taker waits for the first to commit. Of the keys that
-- are older two go, so that they never pile up.
WITH expired AS (
    DELETE FROM idempotent_request r WHERE r.workspace_id = @workspace_id AND r.key <> @key AND r.ctid = ANY(ARRAY(
        SELECT o.ctid FROM idempotent_request o
        WHERE o.workspace_id = @workspace_id AND o.created_at < now() - interval '24 hours'
        ORDER BY o.created_at LIMIT 2 FOR UPDATE SKIP LOCKED))
)
INSERT INTO idempotent_request (workspace_id, asker, key, digest, answer)
VALUES (@workspace_id, @asker, @key, @digest, @answer)
ON CONFLICT (workspace_id, asker, key) DO UPDATE
    SET digest = excluded.digest, answer = excluded.answer, created_at = now()
    WHERE idempotent_request.created_at < now() - interval '24 hours';

-- name: IdempotentRequestGet :one
SELECT digest, answer FROM idempotent_request WHERE workspace_id = @workspace_id AND asker = @asker AND key = @key;

-- name: IdempotentRequestAnswer :exec
UPDATE idempotent_request SET answer = @answer WHERE workspace_id = @workspace_id AND asker = @asker AND key = @key;

-- name: JobRequestInsert :exec
INSERT INTO job_request (workspace_id, job_id, digest) SELECT @workspace_id, unnest(@job_ids::uuid[]), unnest(@digests::bytea[]);

-- name: JobRequestGet :many
SELECT digest FROM job_request WHERE workspace_id = @workspace_id AND job_id = @job_id;
