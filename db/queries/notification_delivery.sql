-- name: NotificationDeliveries :many
-- The messages of decisions that are open.
SELECT d.account_id, d.decision, d.channel, d.due_at, d.sent_stamp FROM notification n
JOIN notification_delivery d ON d.workspace_id = n.workspace_id AND d.account_id = n.account_id AND d.decision = n.decision
WHERE n.workspace_id = @workspace_id AND n.closed_at IS NULL;

-- name: NotificationDeliver :exec
-- Has messages sent at their times, or not at all.
INSERT INTO notification_delivery (workspace_id, account_id, decision, channel, due_at)
SELECT @workspace_id, r.account_id, r.decision, r.channel, r.due_at
FROM jsonb_to_recordset(@rows::jsonb) AS r(account_id uuid, decision text, channel text, due_at timestamptz)
ON CONFLICT (workspace_id, account_id, decision, channel) DO UPDATE SET due_at = excluded.due_at, tries = 0;

-- name: NotificationDueWorkspaces :many
SELECT DISTINCT d.workspace_id FROM notification_delivery d
WHERE d.due_at <= now() AND (d.trying_until IS NULL OR d.trying_until <= now());

-- name: NotificationTake :many
-- Takes messages that are due, for so many seconds: nobody else sends them in that time.
UPDATE notification_delivery d SET trying_until = now() + make_interval(secs => @lease_seconds::int), tries = d.tries + 1
FROM (
    SELECT x.account_id, x.decision, x.channel FROM notification_delivery x
    WHERE x.workspace_id = @workspace_id AND x.due_at <= now() AND (x.trying_until IS NULL OR x.trying_until <= now())
    ORDER BY x.due_at, x.account_id, x.decision LIMIT @max_rows FOR UPDATE SKIP LOCKED
) t, notification n
WHERE d.workspace_id = @workspace_id AND d.account_id = t.account_id AND d.decision = t.decision AND d.channel = t.channel
    AND n.workspace_id = d.workspace_id AND n.account_id = d.account_id AND n.decision = d.decision
RETURNING d.account_id, d.decision, d.channel, d.due_at, d.tries, d.sent_stamp, d.message_id, n.kind, n.job_id, n.stamp, n.title,
    n.detail, n.path, n.opened_at, (n.closed_at IS NOT NULL)::boolean AS closed, n.outcome, n.escalated_from;

-- name: NotificationSent :exec
-- Notes what was sent. What has moved meanwhile stays due.
UPDATE notification_delivery SET sent_stamp = @sent_stamp, sent_at = now(), trying_until = NULL, tries = 0, message_id = @message_id,
    due_at = CASE WHEN due_at = @due_at THEN NULL ELSE due_at END
WHERE workspace_id = @workspace_id AND account_id = @account_id AND decision = @decision AND channel = @channel;

-- name: NotificationFailed :exec
-- Notes that a message was not sent, and when it is tried again: never where due_at is NULL.
UPDATE notification_delivery SET trying_until = NULL, due_at = CASE WHEN due_at = @was_due THEN sqlc.narg(due_at)::timestamptz ELSE due_at END
WHERE workspace_id = @workspace_id AND account_id = @account_id AND decision = @decision AND channel = @channel;

-- name: NotificationChannelSent :exec
INSERT INTO notification_channel (workspace_id, account_id, channel, sent_at) VALUES (@workspace_id, @account_id, @channel, now())
ON CONFLICT (workspace_id, account_id, channel) DO UPDATE SET sent_at = now(), failing_since = NULL, error = '';

-- name: NotificationChannelFailed :exec
INSERT INTO notification_channel (workspace_id, account_id, channel, failing_since, error)
VALUES (@workspace_id, @account_id, @channel, now(), @error)
ON CONFLICT (workspace_id, account_id, channel) DO UPDATE
SET failing_since = coalesce(notification_channel.failing_since, now()), error = excluded.error;

-- name: NotificationChannels :many
SELECT channel, sent_at, failing_since, error FROM notification_channel
WHERE workspace_id = @workspace_id AND account_id = @account_id ORDER BY channel;

-- name: NotificationVersions :many
-- The present versions of jobs, for links to them.
SELECT id, version, status, coalesce(CASE jsonb_typeof(result) WHEN 'object' THEN result->>'commit' END, '')::text AS head FROM job
WHERE workspace_id = @workspace_id AND id = ANY(@jobs::uuid[]);
