-- name: WebhookList :many
-- The webhooks of a workspace, the oldest first, each with how its deliveries go.
SELECT w.*, p.seq, p.failing_since, p.delivered_at, coalesce(w.old_until > clock_timestamp(), false)::boolean AS rotating,
    (SELECT count(*) FROM webhook_delivery d WHERE d.workspace_id = w.workspace_id AND d.webhook_id = w.id
        AND d.state = 'pending')::int AS pending
FROM webhook w JOIN webhook_place p ON p.workspace_id = w.workspace_id AND p.webhook_id = w.id
WHERE w.workspace_id = @workspace_id AND (sqlc.narg('id')::uuid IS NULL OR w.id = sqlc.narg('id')::uuid)
ORDER BY w.created_at, w.id;

-- name: WebhookLock :one
SELECT w.version FROM webhook w WHERE w.workspace_id = @workspace_id AND w.id = @id FOR NO KEY UPDATE;

-- name: WebhookInsert :exec
WITH made AS (
    INSERT INTO webhook (workspace_id, id, url, types, products, key_id, sealed, created_by)
    VALUES (@workspace_id, @id, @url, @types, @products, @key_id, @sealed, @created_by)
    RETURNING workspace_id, id
)
INSERT INTO webhook_place (workspace_id, webhook_id, place) SELECT m.workspace_id, m.id, @place FROM made m;

-- name: WebhookUpdate :exec
-- A webhook as a person wants it: it is not disabled any more.
UPDATE webhook SET url = @url, types = @types, products = @products, state = @state, disabled_reason = '', disabled_at = NULL,
    updated_at = now(), version = version + 1
WHERE workspace_id = @workspace_id AND id = @id;

-- name: WebhookRotate :exec
-- The secret so far signs beside the new one for a time.
UPDATE webhook SET old_key_id = @old_key_id, old_sealed = @old_sealed, old_until = clock_timestamp() + make_interval(hours => @overlap_hours),
    key_id = @key_id, sealed = @sealed, updated_at = now(), version = version + 1
WHERE workspace_id = @workspace_id AND id = @id;

-- name: WebhookDisable :execrows
UPDATE webhook SET state = 'disabled', disabled_reason = @reason, disabled_at = clock_timestamp(), updated_at = now(), version = version + 1
WHERE workspace_id = @workspace_id AND id = @id AND state = 'active';

-- name: WebhookDelete :execrows
DELETE FROM webhook WHERE workspace_id = @workspace_id AND id = @id;

-- name: WebhookNames :many
-- For the system role: all webhooks.
SELECT w.workspace_id, w.id FROM webhook w ORDER BY w.workspace_id, w.id;

-- name: WebhookSender :many
-- What a webhook is sent with, and how far it is; no row where there is none any more.
SELECT w.url, w.types, w.products, w.state, w.key_id, w.sealed, w.old_key_id, w.old_sealed,
    coalesce(w.old_until > clock_timestamp(), false)::boolean AS rotating, p.place, p.seq,
    (SELECT count(*) FROM (SELECT FROM webhook_delivery d WHERE d.workspace_id = w.workspace_id AND d.webhook_id = w.id
        AND d.state = 'pending' LIMIT @max_pending) few)::int AS pending
FROM webhook w JOIN webhook_place p ON p.workspace_id = w.workspace_id AND p.webhook_id = w.id
WHERE w.workspace_id = @workspace_id AND w.id = @id;

-- name: WebhookMove :execrows
-- Moves a webhook on in the log; no row where somebody else has.
UPDATE webhook_place SET place = @place, seq = @seq
WHERE workspace_id = @workspace_id AND webhook_id = @webhook_id AND place = @old_place;

-- name: WebhookSkip :exec
-- Leaves out what was not delivered, up to a place in the log.
WITH skipped AS (
    UPDATE webhook_delivery d SET state = 'skipped' WHERE d.workspace_id = @workspace_id AND d.webhook_id = @webhook_id
        AND NOT d.once AND d.state IN ('pending', 'failed')
)
UPDATE webhook_place p SET place = @place, failing_since = NULL WHERE p.workspace_id = @workspace_id AND p.webhook_id = @webhook_id;

-- name: WebhookResume :exec
-- Has everything tried anew that was not delivered.
WITH again AS (
    UPDATE webhook_delivery d SET state = 'pending', retries = 0, next_at = clock_timestamp(), retry_at = clock_timestamp()
    WHERE d.workspace_id = @workspace_id AND d.webhook_id = @webhook_id AND NOT d.once AND d.state IN ('pending', 'failed')
)
UPDATE webhook_place p SET failing_since = NULL WHERE p.workspace_id = @workspace_id AND p.webhook_id = @webhook_id;

-- name: WebhookDisabled :many
-- The webhooks that the server does not send to any more, which a person has to look at.
SELECT w.id, w.url, w.disabled_reason, w.disabled_at FROM webhook w
WHERE w.workspace_id = @workspace_id AND w.state = 'disabled' ORDER BY w.disabled_at, w.id;

-- name: WebhookJobs :many
-- The products of jobs, and whether the jobs are there.
SELECT j.id, d.name AS product FROM job j JOIN product d ON d.workspace_id = j.workspace_id AND d.id = j.product_id
WHERE j.workspace_id = @workspace_id AND j.id = ANY(@jobs::uuid[]);

-- name: WebhookSecretsOf :many
-- The secrets that a key has sealed.
SELECT w.id, w.key_id, w.sealed, w.old_key_id, w.old_sealed FROM webhook w
WHERE w.workspace_id = @workspace_id AND (w.key_id = @key_id OR w.old_key_id = @key_id) ORDER BY w.id;

-- name: WebhookReseal :execrows
-- Replaces secrets that are still as they were read.
UPDATE webhook SET key_id = @key_id, sealed = @sealed, old_key_id = sqlc.narg('old_key_id'), old_sealed = sqlc.narg('old_sealed')
WHERE workspace_id = @workspace_id AND id = @id AND sealed = @was AND old_sealed IS NOT DISTINCT FROM sqlc.narg('old_was')::bytea;

-- name: WebhookForgetOld :exec
-- Forgets the secrets that do not sign any more.
UPDATE webhook SET old_key_id = NULL, old_sealed = NULL, old_until = NULL
WHERE workspace_id = @workspace_id AND id = @id AND old_until <= clock_timestamp();

-- name: WebhookHold :exec
-- Whoever changes a webhook and its deliveries, or several of them, locks its place first.
SELECT FROM webhook_place p WHERE p.workspace_id = @workspace_id AND p.webhook_id = @webhook_id FOR NO KEY UPDATE;
