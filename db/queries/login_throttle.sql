-- name: LoginThrottleTake :one
-- Counts an attempt as failed before it is checked, so that attempts made at
-- the same moment cannot all pass as the first. No row means: wait. A row that
-- saw nothing for a day starts again.
INSERT INTO login_throttle AS t (subject, failures, last_failed_at) VALUES (@subject, 1, now())
ON CONFLICT (subject) DO UPDATE SET
    failures = CASE WHEN t.last_failed_at < now() - interval '1 day' THEN 1 ELSE least(t.failures, 100000) + 1 END,
    last_failed_at = now()
WHERE t.failures < @free::integer
    OR t.last_failed_at + least(@max_seconds::integer, power(2, least(t.failures - @free::integer, 20))) * interval '1 second' <= now()
RETURNING failures;

-- name: LoginThrottleWait :one
-- Seconds until the next attempt of a subject may be made, at least one.
SELECT greatest(1, ceil(extract(epoch FROM t.last_failed_at - now())
    + least(@max_seconds::integer, power(2, greatest(0, least(t.failures - @free::integer, 20))))))::integer AS seconds
FROM login_throttle t WHERE t.subject = @subject;

-- name: LoginThrottleForget :exec
DELETE FROM login_throttle WHERE subject = @subject;

-- name: LoginThrottleGiveBack :exec
-- An attempt that was right after all.
UPDATE login_throttle SET failures = greatest(0, failures - 1) WHERE subject = @subject;

-- name: LoginThrottleExpire :execrows
DELETE FROM login_throttle WHERE subject IN (
    SELECT t.subject FROM login_throttle t WHERE t.last_failed_at < now() - interval '1 day' LIMIT @max_rows);
