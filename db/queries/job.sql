-- name: JobTextUpdate :exec
UPDATE job_text SET body = @body, acceptance = @acceptance, acceptance_met = @acceptance_met
WHERE workspace_id = @workspace_id AND job_id = @job_id;

-- name: JobTermsUpdate :exec
UPDATE job SET max_retries = @max_retries, review_required = sqlc.narg('review_required')
WHERE workspace_id = @workspace_id AND id = @id;

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
-- A key is found as it is and, where no job has it so, in capitals, as the server makes keys.
SELECT id FROM job WHERE workspace_id = @workspace_id AND key IN (@key::text, upper(@key::text)) ORDER BY key <> @key::text LIMIT 1;

-- name: JobIDs :many
SELECT id, key FROM job WHERE workspace_id = @workspace_id AND (key = ANY(@keys::text[]) OR id = ANY(@ids::uuid[]));

-- name: JobTitles :many
SELECT id, title FROM job WHERE workspace_id = @workspace_id AND id = ANY(@ids::uuid[]);

-- name: JobFullByID :one
SELECT * FROM job_full WHERE workspace_id = @workspace_id AND id = @id;

-- name: JobFullByIDs :many
-- One look for each id, whatever the statistics say: as a join, tables of leases
-- and agents that look small would be read from end to end.
SELECT f.* FROM (SELECT unnest(@ids::uuid[]) AS id) u
CROSS JOIN LATERAL (SELECT * FROM job_full j WHERE j.workspace_id = @workspace_id AND j.id = u.id OFFSET 0) f;

-- name: JobPlaces :many
-- The jobs that a filter leaves after a place, in an order, with what orders look at.
-- Where it is planned for its values (db.PlanAnew) only the terms of the one
-- order are left of ORDER BY, and an index has it. By priority it is asked for one
-- status, and for the rest of one priority or for those below it; that status is
-- compared so that no other index than that of the board fits. No index has costs:
-- they are only told.
SELECT j.id, j.priority, j.status_at, j.updated_at, CASE WHEN @sort::text = 'cost' THEN (
    SELECT least(coalesce(sum(u.charged_nanos), 0), 9223372036854775807) FROM job_usage u
    WHERE u.workspace_id = @workspace_id AND u.job_id = j.id) ELSE 0 END::bigint AS cost_nanos
FROM job j
WHERE j.workspace_id = @workspace_id
    AND CASE @sort::text
        WHEN 'age' THEN j.id > @after_id::uuid
        WHEN 'updated' THEN (j.updated_at, j.id) < (@after_at::timestamptz, @after_id::uuid)
        WHEN 'priority' THEN j.status = (SELECT @status::text)
            AND j.status IN ('waiting', 'ready', 'assigned', 'running', 'paused', 'blocked', 'in_review', 'approved')
            AND CASE WHEN @within::boolean THEN j.priority = @after_priority::int AND (j.status_at, j.id) > (@after_at::timestamptz, @after_id::uuid)
                ELSE j.priority < @after_priority::int END
        ELSE j.id < @after_id::uuid END
    AND (cardinality(@statuses::text[]) = 0 OR j.status = ANY(@statuses::text[]))
    AND (cardinality(@keys::text[]) = 0 OR j.id = ANY(ARRAY(
        SELECT k.id FROM job k WHERE k.workspace_id = @workspace_id AND k.key = ANY(@keys::text[]))))
    AND (@product::text = '' OR j.product_id = (SELECT p.id FROM product p WHERE p.workspace_id = @workspace_id AND p.name = @product))
    AND (@repo::text = '' OR j.repo = @repo)
    AND (@phase::text = '' OR j.phase = @phase)
    AND (@tag::text = '' OR @tag = ANY(j.tags))
    AND (@factory::text = '' OR j.factory = @factory OR j.id = ANY(ARRAY(
        SELECT l.job_id FROM job_lease l WHERE l.workspace_id = @workspace_id AND l.factory = @factory)))
    AND (@agent::text = '' OR j.id = ANY(ARRAY(
        SELECT l.job_id FROM job_lease l WHERE l.workspace_id = @workspace_id AND l.agent = @agent)))
    AND (@failure_kind::text = '' OR j.failure_kind = @failure_kind)
    AND (@wait_reason::text = '' OR j.wait_reason = @wait_reason)
    AND (@verdict::text = '' OR j.id = ANY(ARRAY(SELECT m.job_id FROM job_verify m JOIN job w ON w.workspace_id = m.workspace_id AND w.id = m.job_id
        WHERE m.workspace_id = @workspace_id AND m.verdict = @verdict AND m.commit = w.result ->> 'commit')))
    AND (@round_gte::int = 0 OR j.id = ANY(ARRAY(SELECT m.job_id FROM job_verify m WHERE m.workspace_id = @workspace_id
        AND m.verdict = 'changes' AND m.sent_back GROUP BY m.job_id HAVING count(*) >= @round_gte::int)))
    AND j.priority >= @priority_gte::int
    AND (sqlc.narg('updated_since')::timestamptz IS NULL OR j.updated_at >= sqlc.narg('updated_since')::timestamptz)
    AND (@q::text = '' OR j.title ILIKE '%' || @q || '%' OR j.key ILIKE @q || '%')
ORDER BY CASE WHEN @sort = 'priority' THEN j.priority END DESC, CASE WHEN @sort = 'priority' THEN j.status_at END,
    CASE WHEN @sort = 'updated' THEN j.updated_at END DESC, CASE WHEN @sort IN ('age', 'priority') THEN j.id END, j.id DESC
LIMIT @max_rows;

-- name: JobKeyTaken :many
SELECT key FROM job WHERE workspace_id = @workspace_id AND key = ANY(@keys::text[]);

-- name: JobByIdempotencyKey :many
SELECT id FROM job WHERE workspace_id = @workspace_id AND idempotency_key = @idempotency_key;

-- name: LeaseExpiredCount :one
SELECT count(*)::int FROM job_lease WHERE workspace_id = @workspace_id AND expires_at <= clock_timestamp();

-- name: JobDue :many
-- Jobs that wait for a time, by these reasons, and whose time has come, in every
-- workspace. Those that wait for something else as well are left to its end: they
-- would stand before all others for ever. The time is the statement's, which an index
-- can be asked for: with another clock all that is ever to come would be read each time.
SELECT workspace_id, id FROM job
WHERE status = 'waiting' AND not_before IS NOT NULL AND not_before <= statement_timestamp()
    AND wait_reason = ANY(@wait_reasons::text[])
ORDER BY not_before LIMIT @max_rows;

-- name: JobClock :one
SELECT clock_timestamp()::timestamptz AS now;
