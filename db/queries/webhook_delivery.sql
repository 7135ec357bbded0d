-- name: WebhookDeliveryInsert :exec
-- Adds the events of a webhook in the order of the arrays, which are equally long; one that is there
-- already is left as it is.
INSERT INTO webhook_delivery (workspace_id, id, webhook_id, seq, event_id, type, job_id, job_key, job_there, body)
SELECT @workspace_id, n.id, @webhook_id, n.seq, n.event_id, n.type, nullif(n.job_id, '00000000-0000-0000-0000-000000000000'), n.job_key,
    (SELECT j.id FROM job j WHERE j.workspace_id = @workspace_id AND j.id = n.job_id), n.body
FROM (SELECT unnest(@ids::uuid[]) AS id, unnest(@seqs::bigint[]) AS seq, unnest(@event_ids::bigint[]) AS event_id,
    unnest(@types::text[]) AS type, unnest(@job_ids::uuid[]) AS job_id, unnest(@job_keys::text[]) AS job_key,
    unnest(@bodies::text[]) AS body) n
ON CONFLICT (workspace_id, webhook_id, event_id) DO NOTHING;

-- name: WebhookDeliveryInsertTest :exec
INSERT INTO webhook_delivery (workspace_id, id, webhook_id, seq, type, body, once)
VALUES (@workspace_id, @id, @webhook_id, 0, @type, @body, true);

-- name: WebhookDeliveryDue :many
-- Deliveries that are to be sent now: of each job its first one, and none of a job of which one is
-- under way. What a person wants sent goes out also where the webhook does not send.
SELECT d.id, d.type, d.job_id, d.body, d.once, d.retries, d.tries FROM webhook_delivery d
WHERE d.workspace_id = @workspace_id AND d.webhook_id = @webhook_id AND d.state = 'pending' AND d.next_at <= clock_timestamp()
    AND (d.once OR @active::boolean) AND d.id <> ALL(@busy::uuid[])
    AND (d.job_id IS NULL OR d.job_id <> ALL(@busy_jobs::uuid[]))
    AND (d.once OR d.job_id IS NULL OR NOT EXISTS (SELECT FROM webhook_delivery e
        WHERE e.workspace_id = d.workspace_id AND e.webhook_id = d.webhook_id AND e.job_id = d.job_id
            AND e.state = 'pending' AND NOT e.once AND e.seq < d.seq))
ORDER BY d.next_at, d.seq LIMIT @max_rows;

-- name: WebhookDeliveryNext :one
-- How long it takes until a delivery is due that is not yet, in seconds; -1 for none.
SELECT coalesce((SELECT extract(epoch FROM d.next_at - clock_timestamp()) FROM webhook_delivery d
    WHERE d.workspace_id = @workspace_id AND d.webhook_id = @webhook_id AND d.state = 'pending' AND d.next_at > clock_timestamp()
    ORDER BY d.next_at LIMIT 1), -1)::float8 AS seconds;

-- name: WebhookDeliveriesTaken :execrows
-- Notes tries that the receiver took, in arrays that are equally long, but those that another process
-- has noted meanwhile.
UPDATE webhook_delivery d SET state = 'delivered', tries = d.tries + 1, tried_at = clock_timestamp(), status = n.status, error = '',
    answer = n.answer, millis = n.millis
FROM (SELECT unnest(@ids::uuid[]) AS id, unnest(@tries::int[]) AS tries, unnest(@statuses::int[]) AS status,
    unnest(@answers::text[]) AS answer, unnest(@millis::int[]) AS millis) n
WHERE d.workspace_id = @workspace_id AND d.id = n.id AND d.state = 'pending' AND d.tries = n.tries;

-- name: WebhookDeliveryDone :execrows
-- Notes a try that failed; no row where another process has meanwhile. A try that came before its
-- time uses no retry.
UPDATE webhook_delivery SET state = @state, tries = tries + 1, tried_at = clock_timestamp(), status = @status, error = @error,
    answer = @answer, millis = @millis,
    retries = CASE WHEN retry_at > clock_timestamp() THEN retries ELSE retries + 1 END,
    next_at = CASE WHEN retry_at > clock_timestamp() THEN retry_at ELSE clock_timestamp() + make_interval(secs => @delay_seconds::float8) END,
    retry_at = CASE WHEN retry_at > clock_timestamp() THEN retry_at ELSE clock_timestamp() + make_interval(secs => @delay_seconds::float8) END
WHERE workspace_id = @workspace_id AND id = @id AND state = 'pending' AND tries = @tries;

-- name: WebhookDeliveryEarly :many
-- Whether a pending delivery is tried before its next retry is due; no row where it is gone.
SELECT (d.retry_at > clock_timestamp())::boolean AS early FROM webhook_delivery d
WHERE d.workspace_id = @workspace_id AND d.id = @id FOR NO KEY UPDATE;

-- name: WebhookSucceeded :one
-- Notes that a webhook takes deliveries, and since how many seconds it had not.
WITH before AS (
    SELECT p.failing_since FROM webhook_place p WHERE p.workspace_id = @workspace_id AND p.webhook_id = @webhook_id FOR NO KEY UPDATE
), noted AS (
    UPDATE webhook_place p SET failing_since = NULL, delivered_at = clock_timestamp()
    WHERE p.workspace_id = @workspace_id AND p.webhook_id = @webhook_id
)
SELECT coalesce((SELECT extract(epoch FROM clock_timestamp() - b.failing_since) FROM before b), 0)::float8 AS seconds;

-- name: WebhookFailed :exec
UPDATE webhook_place p SET failing_since = clock_timestamp()
WHERE p.workspace_id = @workspace_id AND p.webhook_id = @webhook_id AND p.failing_since IS NULL;

-- name: WebhookDeliveryHurry :exec
-- Has what waits for a retry tried now, since the receiver is back.
UPDATE webhook_delivery SET next_at = clock_timestamp()
WHERE workspace_id = @workspace_id AND webhook_id = @webhook_id AND state = 'pending' AND next_at > clock_timestamp();

-- name: WebhookDeliveryList :many
-- The deliveries of a webhook, the newest first.
SELECT d.id, d.seq, d.event_id, d.type, d.job_key, d.state, d.tries, d.created_at, d.next_at, d.tried_at, d.status, d.error, d.answer,
    d.millis, d.body FROM webhook_delivery d
WHERE d.workspace_id = @workspace_id AND d.webhook_id = @webhook_id AND (@state::text = '' OR d.state = @state)
    AND d.id < @before ORDER BY d.id DESC LIMIT @max_rows;

-- name: WebhookDeliveryGet :one
SELECT d.id, d.webhook_id, d.seq, d.event_id, d.type, d.job_key, d.state, d.once, d.tries, d.created_at, d.next_at, d.tried_at, d.status,
    d.error, d.answer, d.millis, d.body FROM webhook_delivery d WHERE d.workspace_id = @workspace_id AND d.id = @id FOR NO KEY UPDATE;

-- name: WebhookDeliveryAgain :exec
-- Has a delivery sent once more, now; one that is on its way anyway goes on as it was.
UPDATE webhook_delivery SET once = once OR state <> 'pending', state = 'pending', next_at = clock_timestamp()
WHERE workspace_id = @workspace_id AND id = @id;

-- name: WebhookDeliveryExpire :one
-- Deletes deliveries that ended and are old, or older than the newest ones of their webhook, at most
-- max_rows of them.
WITH gone AS (
    DELETE FROM webhook_delivery d WHERE (d.workspace_id, d.id) IN (
        SELECT o.workspace_id, o.id FROM webhook_delivery o
        WHERE o.workspace_id = @workspace_id AND o.webhook_id = @webhook_id AND (o.state IN ('delivered', 'skipped') OR o.state = 'failed' AND o.once)
            AND (o.created_at < clock_timestamp() - make_interval(days => @days)
                OR o.seq > 0 AND o.seq <= (SELECT p.seq FROM webhook_place p
                    WHERE p.workspace_id = @workspace_id AND p.webhook_id = @webhook_id) - @kept::bigint)
        ORDER BY o.id LIMIT @max_rows)
    RETURNING 1
)
SELECT count(*)::int AS gone FROM gone;
