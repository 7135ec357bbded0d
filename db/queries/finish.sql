-- name: LeasesEnd :many
-- Ends leases and closes their attempts, keeping what each lease knew of the work.
-- What went wrong is an ERROR in the job's log.
-- A lease that is not there any more gives no row.
WITH e AS MATERIALIZED (
    SELECT (r.r ->> 'job_id')::uuid AS job_id, (r.r ->> 'epoch')::bigint AS epoch, r.r ->> 'outcome' AS outcome,
        r.r ->> 'error' AS error, r.r ->> 'error_kind' AS error_kind, nullif(r.r -> 'result', 'null') AS result,
        decode(r.r ->> 'end_digest', 'hex') AS end_digest, r.r ->> 'wrong' AS wrong,
        coalesce((r.r ->> 'delivery_follows')::boolean, false) AS delivery_follows
    FROM (SELECT jsonb_array_elements(@endings::jsonb) AS r) r
), ended AS (
    DELETE FROM job_lease l USING e
    WHERE l.workspace_id = @workspace_id AND l.job_id = ANY(@job_ids::uuid[]) AND l.job_id = e.job_id AND l.epoch = e.epoch
    RETURNING l.job_id, l.epoch, l.progress_percent, l.current_step, l.checkpoint, l.touches
), closed AS (
    UPDATE attempt a SET ended_at = clock_timestamp(), outcome = e.outcome, error = e.error, error_kind = e.error_kind,
        progress_percent = x.progress_percent, current_step = x.current_step,
        checkpoint = x.checkpoint, result = e.result, result_digest = e.end_digest,
        delivery = CASE WHEN e.delivery_follows AND a.delivery = '' THEN 'awaited' ELSE a.delivery END
    FROM ended x JOIN e ON e.job_id = x.job_id AND e.epoch = x.epoch
    WHERE a.workspace_id = @workspace_id AND a.job_id = ANY(@job_ids::uuid[]) AND a.job_id = x.job_id AND a.epoch = x.epoch
        AND a.ended_at IS NULL
    RETURNING a.job_id, a.epoch, a.agent, e.outcome, e.wrong
), told AS (
    INSERT INTO job_log (workspace_id, job_id, epoch, agent, level, event, message)
    SELECT @workspace_id, c.job_id, c.epoch, c.agent, 'ERROR', 'attempt.' || c.outcome, c.wrong FROM closed c WHERE c.wrong <> ''
)
SELECT job_id, progress_percent, current_step, checkpoint, touches FROM ended;

-- name: AttemptClose :exec
-- Closes an attempt whose lease is not there.
UPDATE attempt SET ended_at = clock_timestamp(), outcome = @outcome, error = @error
WHERE workspace_id = @workspace_id AND job_id = @job_id AND epoch = @epoch AND ended_at IS NULL;

-- name: JobsLock :many
-- Locks those of the jobs, by key or id, that nobody has locked.
SELECT j.id, j.key, clock_timestamp()::timestamptz AS now FROM job j
WHERE j.workspace_id = @workspace_id
    AND j.id = ANY(@ids::uuid[] || ARRAY(SELECT k.id FROM job k WHERE k.workspace_id = @workspace_id AND k.key = ANY(@keys::text[])))
ORDER BY j.id FOR NO KEY UPDATE OF j SKIP LOCKED;

-- name: JobsWaitedFor :many
-- Those of the jobs for which others wait. Each is looked at by itself: as a join it
-- is planned by statistics, and reads all dependencies where they are missing.
SELECT u.id::uuid AS id FROM (SELECT unnest(@ids::uuid[]) AS id) u
WHERE (SELECT 1 FROM job_dependency x WHERE x.workspace_id = @workspace_id AND x.depends_on_id = u.id AND x.type IN ('blocks', 'gate')
    AND (SELECT d.status = 'waiting' AND d.wait_reason = 'dependency' FROM job d
        WHERE d.workspace_id = x.workspace_id AND d.id = x.job_id) LIMIT 1) IS NOT NULL;
