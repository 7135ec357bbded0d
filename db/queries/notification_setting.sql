-- name: NotificationSetting :one
SELECT channels, kinds, webhook_shown, webhook_sealed, quiet_from, quiet_to, timezone, digest_minutes, escalate_minutes, escalate_to
FROM notification_setting WHERE workspace_id = @workspace_id AND account_id = @account_id;

-- name: NotificationSettingSave :exec
INSERT INTO notification_setting (workspace_id, account_id, channels, kinds, webhook_shown, webhook_sealed, quiet_from, quiet_to,
    timezone, digest_minutes, escalate_minutes, escalate_to)
VALUES (@workspace_id, @account_id, @channels, @kinds, @webhook_shown, @webhook_sealed, @quiet_from, @quiet_to, @timezone,
    @digest_minutes, @escalate_minutes, @escalate_to)
ON CONFLICT (workspace_id, account_id) DO UPDATE SET channels = excluded.channels, kinds = excluded.kinds,
    webhook_shown = excluded.webhook_shown, webhook_sealed = excluded.webhook_sealed, quiet_from = excluded.quiet_from,
    quiet_to = excluded.quiet_to, timezone = excluded.timezone, digest_minutes = excluded.digest_minutes,
    escalate_minutes = excluded.escalate_minutes, escalate_to = excluded.escalate_to, updated_at = now();

-- name: NotificationMembers :many
-- The members to whom somebody can hand on what stays open.
SELECT m.account_id, a.name, a.email, m.role FROM membership m JOIN account a ON a.id = m.account_id
WHERE m.workspace_id = @workspace_id AND m.disabled_at IS NULL ORDER BY a.name, a.email LIMIT 1000;

-- name: PushSubscriptionSave :exec
INSERT INTO push_subscription (workspace_id, id, account_id, endpoint_hash, sealed, server_key, browser)
VALUES (@workspace_id, @id, @account_id, @endpoint_hash, @sealed, @server_key, @browser)
ON CONFLICT (workspace_id, endpoint_hash) DO UPDATE SET id = excluded.id, account_id = excluded.account_id, sealed = excluded.sealed,
    server_key = excluded.server_key, browser = excluded.browser, created_at = now();

-- name: PushSubscriptionTrim :exec
-- Forgets all but the newest of a person.
DELETE FROM push_subscription p WHERE p.workspace_id = @workspace_id AND p.account_id = @account_id AND p.id NOT IN (
    SELECT x.id FROM push_subscription x WHERE x.workspace_id = @workspace_id AND x.account_id = @account_id
    ORDER BY x.created_at DESC, x.id DESC LIMIT @max_rows);

-- name: PushSubscriptions :many
SELECT id, sealed, server_key, browser, created_at FROM push_subscription
WHERE workspace_id = @workspace_id AND account_id = @account_id ORDER BY created_at, id;

-- name: PushSubscriptionDelete :execrows
DELETE FROM push_subscription WHERE workspace_id = @workspace_id AND account_id = @account_id AND id = @id;

-- name: PushSubscriptionForget :execrows
DELETE FROM push_subscription WHERE workspace_id = @workspace_id AND account_id = @account_id AND endpoint_hash = @endpoint_hash;
