-- name: JobTextUpdate :exec
UPDATE job_text SET body = @body, acceptance = @acceptance, acceptance_met = @acceptance_met
WHERE workspace_id = @workspace_id AND job_id = @job_id;

-- name: JobLock :one
-- Locks a job against every other change of it. Readers, and rows that merely
-- refer to it, go on.
SELECT id, clock_timestamp()::timestamptz AS now FROM job
WHERE workspace_id = @workspace_id AND id = @id FOR NO KEY UPDATE;

-- name: JobLockReady :many
-- Takes a ready job out of reach of the claims, or fails at once where one is
-- taking it: waiting here while holding the job's lock would be a deadlock.
SELECT job_id FROM job_ready WHERE workspace_id = @workspace_id AND job_id = @job_id FOR UPDATE NOWAIT;

-- name: JobID :one
SELECT id FROM job WHERE workspace_id = @workspace_id AND key = @key;

-- name: JobIDs :many
SELECT id, key FROM job WHERE workspace_id = @workspace_id AND (key = ANY(@keys::text[]) OR id = ANY(@ids::uuid[]));

-- name: JobFullByID :one
SELECT * FROM job_full WHERE workspace_id = @workspace_id AND id = @id;

-- name: JobFullByIDs :many
-- One look for each id, whatever the statistics say: as a join, tables of leases
-- and agents that look small would be read from end to end.
SELECT f.* FROM (SELECT unnest(@ids::uuid[]) AS id) u
CROSS JOIN LATERAL (SELECT * FROM job_full j WHERE j.workspace_id = @workspace_id AND j.id = u.id OFFSET 0) f;

-- name: JobList :many
SELECT * FROM job_full j
WHERE j.workspace_id = @workspace_id
    AND (sqlc.narg('before')::uuid IS NULL OR j.id < sqlc.narg('before')::uuid)
    AND (cardinality(@statuses::text[]) = 0 OR j.status = ANY(@statuses::text[]))
    AND (@product::text = '' OR j.product = @product)
    AND (@repo::text = '' OR j.repo = @repo)
    AND (@phase::text = '' OR j.phase = @phase)
    AND (@tag::text = '' OR @tag = ANY(j.tags))
    AND (@factory::text = '' OR j.factory = @factory OR j.lease_factory = @factory)
    AND (@agent::text = '' OR j.lease_agent = @agent)
    AND (@failure_kind::text = '' OR j.failure_kind = @failure_kind)
    AND (@wait_reason::text = '' OR j.wait_reason = @wait_reason)
    AND j.priority >= @priority_gte::int
    AND (sqlc.narg('updated_since')::timestamptz IS NULL OR j.updated_at >= sqlc.narg('updated_since')::timestamptz)
    AND (@q::text = '' OR j.title ILIKE '%' || @q || '%' OR j.key ILIKE @q || '%')
ORDER BY j.id DESC LIMIT @max_rows;

-- name: JobKeyTaken :many
SELECT key FROM job WHERE workspace_id = @workspace_id AND key = ANY(@keys::text[]);

-- name: JobByIdempotencyKey :many
SELECT id FROM job WHERE workspace_id = @workspace_id AND idempotency_key = @idempotency_key;

-- name: LeaseExpiredCount :one
SELECT count(*)::int FROM job_lease WHERE workspace_id = @workspace_id AND expires_at <= clock_timestamp();

-- name: JobDue :many
-- Jobs whose time has come, in every workspace. Those that wait for something else
-- as well are left to its end: they would stand before all others for ever. The
-- time is the statement's, which an index can be asked for: with another clock all
-- that is ever to come would be read each time.
SELECT workspace_id, id FROM job
WHERE status = 'waiting' AND not_before IS NOT NULL AND not_before <= statement_timestamp()
    AND wait_reason IN ('not_before', 'retry_backoff')
ORDER BY not_before LIMIT @max_rows;

-- name: JobClock :one
SELECT clock_timestamp()::timestamptz AS now;
