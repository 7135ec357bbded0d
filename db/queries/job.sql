-- name: JobInsert :batchexec
WITH made AS (
    INSERT INTO job (workspace_id, id, key, title, kind, product_id, repo, phase, priority, capabilities, factory,
        lane_id, tags, status, wait_reason, status_by, max_retries, max_lost, retry_backoff_seconds, review_required,
        estimated_complexity, estimated_minutes, token_budget, not_before, idempotency_key, waits_for_children, created_by,
        ready_at)
    VALUES (@workspace_id, @id, @key, @title, @kind, @product_id, @repo, @phase, @priority, @capabilities, @factory,
        @lane_id, @tags, @status, @wait_reason, @created_by, @max_retries, @max_lost, @retry_backoff_seconds,
        sqlc.narg('review_required'), @estimated_complexity, sqlc.narg('estimated_minutes'),
        sqlc.narg('token_budget'), sqlc.narg('not_before'), sqlc.narg('idempotency_key'), @waits_for_children,
        @created_by, CASE WHEN @status = 'ready' THEN now() END)
    RETURNING workspace_id, id, lane_id, priority, ready_at
), written AS (
    INSERT INTO job_text (workspace_id, job_id, body, acceptance, input_context, secret_keys)
    SELECT workspace_id, id, @body, @acceptance, @input_context, @secret_keys FROM made
), readied AS (
    INSERT INTO job_ready (workspace_id, lane_id, priority, ready_at, job_id)
    SELECT workspace_id, lane_id, priority, ready_at, id FROM made WHERE ready_at IS NOT NULL
)
INSERT INTO event (workspace_id, type, job_id, actor, actor_kind, changes, payload)
SELECT workspace_id, 'job.created', id, @created_by, @actor_kind, @changes, @payload FROM made;

-- name: JobSave :one
-- Writes what a decision changed: the job's state, its row in job_ready and the
-- event, or nothing where status or epoch are no longer those decided on. A slot
-- that is not the job's any more is given up.
WITH saved AS (
    UPDATE job SET
        title = @title, phase = @phase, priority = @priority, tags = @tags,
        capabilities = @capabilities, factory = @factory, repo = @repo, product_id = @product_id, lane_id = @lane_id,
        estimated_complexity = @estimated_complexity, estimated_minutes = sqlc.narg('estimated_minutes'),
        status = @status, wait_reason = @wait_reason, blocked_reason = @blocked_reason,
        question = @question, answer = @answer, waits_for_children = @waits_for_children,
        status_by = CASE WHEN job.status = @status THEN job.status_by ELSE @actor END,
        status_at = CASE WHEN job.status = @status THEN job.status_at ELSE now() END,
        attempts = @attempts, failure_count = @failure_count, lost_count = @lost_count,
        last_error = @last_error, feedback = @feedback,
        progress_percent = sqlc.narg('progress_percent'), current_step = @current_step,
        checkpoint = sqlc.narg('checkpoint'), result = sqlc.narg('result'),
        not_before = sqlc.narg('not_before'),
        ready_at = CASE WHEN @status <> 'ready' THEN NULL WHEN job.status = 'ready' THEN job.ready_at ELSE now() END,
        started_at = CASE WHEN @status = 'running' AND job.status <> 'running' THEN now() ELSE job.started_at END,
        completed_at = CASE WHEN @status = 'completed' THEN coalesce(job.completed_at, now())
            WHEN @status = 'archived' THEN job.completed_at END,
        failed_at = CASE WHEN @status IN ('failed', 'aborted') THEN coalesce(job.failed_at, now())
            WHEN @status = 'archived' THEN job.failed_at END,
        version = job.version + 1,
        updated_at = now()
    WHERE job.workspace_id = @workspace_id AND job.id = @id
        AND job.status = @from_status AND job.epoch = @from_epoch
    RETURNING workspace_id, id, lane_id, repo, priority, status, ready_at, epoch, version
), unreadied AS (
    DELETE FROM job_ready r USING saved s
    WHERE r.workspace_id = s.workspace_id AND r.job_id = s.id AND s.status <> 'ready'
), readied AS (
    INSERT INTO job_ready (workspace_id, lane_id, priority, ready_at, job_id)
    SELECT workspace_id, lane_id, priority, ready_at, id FROM saved WHERE status = 'ready'
    ON CONFLICT (workspace_id, job_id) DO UPDATE
        SET lane_id = excluded.lane_id, priority = excluded.priority, ready_at = excluded.ready_at
), unslotted AS (
    DELETE FROM repo_slot o USING saved s
    WHERE o.workspace_id = s.workspace_id AND o.job_id = s.id
        AND (s.status NOT IN ('ready', 'assigned', 'running') OR o.repo <> s.repo)
), logged AS (
    INSERT INTO event (workspace_id, type, job_id, actor, actor_kind, epoch, changes, payload)
    SELECT workspace_id, @event_type::text, id, @actor, @actor_kind, nullif(epoch, 0), @changes, @payload FROM saved
)
SELECT version FROM saved;

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
SELECT * FROM job_full WHERE workspace_id = @workspace_id AND id = ANY(@ids::uuid[]);

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
    AND j.priority >= @priority_gte::int
    AND (sqlc.narg('updated_since')::timestamptz IS NULL OR j.updated_at >= sqlc.narg('updated_since')::timestamptz)
    AND (@q::text = '' OR j.title ILIKE '%' || @q || '%' OR j.key ILIKE @q || '%')
ORDER BY j.id DESC LIMIT @max_rows;

-- name: JobNumberTake :one
-- Takes n numbers for keys; the first of them is returned.
UPDATE job_number SET next = next + @n::bigint WHERE workspace_id = @workspace_id RETURNING (next - @n::bigint)::bigint;

-- name: JobPrefix :one
SELECT job_prefix FROM workspace WHERE id = @workspace_id;

-- name: JobKeyTaken :many
SELECT key FROM job WHERE workspace_id = @workspace_id AND key = ANY(@keys::text[]);

-- name: JobByIdempotencyKey :many
SELECT id FROM job WHERE workspace_id = @workspace_id AND idempotency_key = @idempotency_key;

-- name: JobCountPerStatus :many
SELECT p.name AS product, j.status, count(*)::bigint AS jobs
FROM job j JOIN product p ON p.workspace_id = j.workspace_id AND p.id = j.product_id
WHERE j.workspace_id = @workspace_id GROUP BY p.name, j.status ORDER BY p.name, j.status;

-- name: JobReadySince :many
-- When the job that is ready longest became so; no row where none is ready.
SELECT ready_at, clock_timestamp()::timestamptz AS now FROM job_ready
WHERE workspace_id = @workspace_id ORDER BY ready_at LIMIT 1;

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
