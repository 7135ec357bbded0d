-- name: LogLease :many
-- The lease that an agent writes under, locked until its lines are committed:
-- it cannot end before, and the lines of a job get their ids in the order in
-- which they are committed. One row where the lease is still the agent's own, with
-- what the job's log has taken after bytes more.
WITH lease AS MATERIALIZED (
    SELECT l.epoch, l.expires_at, l.directive, l.directive_reason FROM job_lease l
    WHERE l.workspace_id = @workspace_id AND l.job_id = @job_id AND l.epoch = @epoch AND l.agent_id = @agent_id
        AND l.expires_at > clock_timestamp()
    FOR NO KEY UPDATE
), used AS (
    INSERT INTO job_log_use AS u (workspace_id, job_id, job_bytes, epoch, attempt_bytes, minute, minute_bytes)
    SELECT @workspace_id, @job_id, @bytes, l.epoch, @bytes, date_trunc('minute', clock_timestamp()), @bytes FROM lease l
    ON CONFLICT (workspace_id, job_id) DO UPDATE SET
        job_bytes = u.job_bytes + excluded.job_bytes,
        attempt_bytes = CASE WHEN u.epoch = excluded.epoch THEN u.attempt_bytes ELSE 0 END + excluded.attempt_bytes,
        minute_bytes = CASE WHEN u.minute = excluded.minute THEN u.minute_bytes ELSE 0 END + excluded.minute_bytes,
        left_out_line = CASE WHEN u.epoch = excluded.epoch THEN u.left_out_line END,
        epoch = excluded.epoch, minute = excluded.minute
    RETURNING u.job_bytes, u.attempt_bytes, u.minute_bytes, u.left_out_line, u.left_out
)
SELECT l.epoch, l.expires_at, l.directive, l.directive_reason, u.job_bytes, u.attempt_bytes, u.minute_bytes, u.left_out_line, u.left_out
FROM lease l, used u;

-- name: LogUseSettle :exec
-- Gives back what was not kept of the bytes that LogLease counted, and notes the line
-- that tells of it.
UPDATE job_log_use SET job_bytes = job_bytes - @bytes, attempt_bytes = attempt_bytes - @bytes, minute_bytes = minute_bytes - @bytes,
    left_out_line = sqlc.narg('line')::bigint, left_out = @left_out
WHERE workspace_id = @workspace_id AND job_id = @job_id;

-- name: LogMark :one
-- The server's own line in a job's log.
INSERT INTO job_log (workspace_id, job_id, epoch, agent, level, event, message, details)
VALUES (@workspace_id, @job_id, @epoch, @agent, @level, @event, @message, @details) RETURNING id;

-- name: LogMarkAgain :exec
UPDATE job_log SET message = @message, details = @details WHERE workspace_id = @workspace_id AND id = @id;

-- name: LogAppend :exec
-- Adds lines in the order of the arrays, which are equally long. A time is in
-- RFC 3339, or empty; so is the id of a line. An id that the lease has is left out.
INSERT INTO job_log (workspace_id, job_id, epoch, agent, level, event, message, details, at, line_id)
SELECT @workspace_id, @job_id, @epoch, @agent, unnest(@levels::text[]), unnest(@events::text[]), unnest(@messages::text[]),
    unnest(@details::text[])::jsonb, nullif(unnest(@ats::text[]), '')::timestamptz, nullif(unnest(@line_ids::text[]), '')
ON CONFLICT (workspace_id, job_id, epoch, line_id) WHERE line_id IS NOT NULL DO NOTHING;

-- name: LogKnown :many
-- Those of the lines that were written under the lease already, by this agent.
SELECT n.id::text AS id FROM unnest(@line_ids::text[]) AS n (id) WHERE (SELECT l.id FROM job_log l
    WHERE l.workspace_id = @workspace_id AND l.job_id = @job_id AND l.epoch = @epoch AND l.line_id = n.id AND l.agent = @agent) IS NOT NULL;

-- name: LogOlder :many
-- Lines of a job, newest first. An epoch of 0 is every attempt, before 0 the
-- newest line.
SELECT id, epoch, agent, level, event, message, details, at, received_at FROM job_log
WHERE workspace_id = @workspace_id AND job_id = @job_id AND level = ANY(@levels::text[])
    AND (@before::bigint = 0 OR id < @before)
ORDER BY id DESC LIMIT @max_rows;

-- name: LogOlderOfAttempt :many
SELECT id, epoch, agent, level, event, message, details, at, received_at FROM job_log
WHERE workspace_id = @workspace_id AND job_id = @job_id AND epoch = @epoch AND level = ANY(@levels::text[])
    AND (@before::bigint = 0 OR id < @before)
ORDER BY id DESC LIMIT @max_rows;

-- name: LogAfter :many
-- What was written to a job's log after a line, oldest first.
SELECT id, epoch, agent, level, event, message, details, at, received_at FROM job_log
WHERE workspace_id = @workspace_id AND job_id = @job_id AND id > @after AND level = ANY(@levels::text[])
    AND (@epoch::bigint = 0 OR epoch = @epoch)
ORDER BY id LIMIT @max_rows;

-- name: LogSearch :many
-- Lines of a job with a text in them, newest first, of the last max_scan before a
-- line, 0 for the newest.
SELECT o.id, o.epoch, o.agent, o.level, o.event, o.message, o.details, o.at, o.received_at FROM (
    SELECT l.* FROM job_log l
    WHERE l.workspace_id = @workspace_id AND l.job_id = @job_id AND (@before::bigint = 0 OR l.id < @before)
    ORDER BY l.id DESC LIMIT @max_scan
) o
WHERE (@epoch::bigint = 0 OR o.epoch = @epoch) AND o.level = ANY(@levels::text[])
    AND (strpos(lower(o.message), lower(@q::text)) > 0 OR strpos(lower(o.event), lower(@q)) > 0)
ORDER BY o.id DESC LIMIT @max_rows;

-- name: LogScanned :many
-- The last line that LogSearch looks at, where there may be more behind it.
SELECT id FROM job_log
WHERE workspace_id = @workspace_id AND job_id = @job_id AND (@before::bigint = 0 OR id < @before)
ORDER BY id DESC OFFSET @max_scan - 1 LIMIT 1;

-- name: LogExpire :execrows
DELETE FROM job_log l WHERE l.workspace_id = @workspace_id AND l.id = ANY(ARRAY(
    SELECT o.id FROM job_log o
    WHERE o.workspace_id = @workspace_id
        AND o.received_at < statement_timestamp() - make_interval(secs => @keep_seconds::float8)
    ORDER BY o.received_at LIMIT @max_rows));

-- name: LogCountOfAttempts :many
-- How many lines attempts wrote, each counted up to a limit.
SELECT e.epoch::bigint AS epoch, (SELECT count(*) FROM (SELECT 1 FROM job_log l
    WHERE l.workspace_id = @workspace_id AND l.job_id = @job_id AND l.epoch = e.epoch LIMIT @most) few)::bigint AS lines
FROM unnest(@epochs::bigint[]) AS e (epoch);

-- name: AttemptOlder :many
-- A job's attempts, newest first; before 0 is the newest.
SELECT * FROM attempt
WHERE workspace_id = @workspace_id AND job_id = @job_id AND (@before::bigint = 0 OR epoch < @before)
ORDER BY epoch DESC LIMIT @max_rows;

-- name: AttemptStacks :many
-- The stacks that failing agents gave, as their events keep them.
SELECT e.epoch::bigint AS epoch, (e.payload->>'stack')::text AS stack FROM event e
WHERE e.workspace_id = @workspace_id AND e.job_id = @job_id::uuid AND e.epoch = ANY(@epochs::bigint[])
    AND e.type IN ('job.attempt_failed', 'job.failed') AND e.payload->>'stack' <> '';
