-- Usage of tokens. Entries are found and added by arrays, which are equally long.

-- name: UsageLeases :many
-- Leases that agents name, as they were or are: whose they were, and what their usage is
-- booked under. No agent: the job never had that epoch. With hold the sums of the leases
-- are locked, of those that nobody else has locked; one that somebody has is busy.
WITH held AS MATERIALIZED (
    SELECT u.job_id, u.epoch FROM job_usage u
    WHERE @hold::boolean AND u.workspace_id = @workspace_id AND u.job_id = ANY(@job_ids::uuid[]) AND u.epoch = ANY(@epochs::bigint[])
    ORDER BY u.job_id, u.epoch FOR NO KEY UPDATE SKIP LOCKED
), named AS MATERIALIZED (
    SELECT unnest(@job_ids::uuid[]) AS job_id, unnest(@epochs::bigint[]) AS epoch
)
SELECT n.job_id::uuid AS job_id, n.epoch::bigint AS epoch, j.key, j.product_id, j.phase, j.repo, j.has_budget,
    (SELECT p.name FROM product p WHERE p.workspace_id = @workspace_id AND p.id = j.product_id)::text AS product,
    coalesce(a.agent, '')::text AS agent, coalesce(a.factory, '')::text AS factory, coalesce(a.claimed_at, now())::timestamptz AS claimed_at,
    (a.ended_at IS NOT NULL)::boolean AS is_over, clock_timestamp()::timestamptz AS now,
    coalesce((SELECT u.charged_nanos FROM job_usage u WHERE u.workspace_id = @workspace_id AND u.job_id = n.job_id AND u.epoch = n.epoch), 0)::bigint AS charged_nanos,
    (@hold::boolean AND EXISTS (SELECT FROM job_usage u WHERE u.workspace_id = @workspace_id AND u.job_id = n.job_id AND u.epoch = n.epoch)
        AND NOT EXISTS (SELECT FROM held h WHERE h.job_id = n.job_id AND h.epoch = n.epoch))::boolean AS busy,
    EXISTS (SELECT FROM job_secret s WHERE s.workspace_id = @workspace_id AND s.job_id = n.job_id)::boolean AS has_secrets
FROM named n
CROSS JOIN LATERAL (SELECT k.key, k.product_id, k.phase, k.repo, (k.token_budget IS NOT NULL OR k.budget_nanos IS NOT NULL)::boolean AS has_budget
    FROM job k WHERE k.workspace_id = @workspace_id AND k.id = n.job_id OFFSET 0) j
LEFT JOIN LATERAL (SELECT t.agent, t.factory, t.claimed_at, t.ended_at FROM attempt t
    WHERE t.workspace_id = @workspace_id AND t.job_id = n.job_id AND t.epoch = n.epoch OFFSET 0) a ON true;

-- name: UsageInsert :many
-- Adds entries that are not there yet, of which no two are the same of one job, and names
-- those that were added. Everybody takes the entries in the order of their jobs and ids, and
-- the sums only then. An amount below 0 is unknown, and so is the price 0.
INSERT INTO usage_entry (workspace_id, id, job_id, epoch, agent_id, product_id, provider, model, provider_session, input_tokens,
    output_tokens, cache_read_tokens, cache_write_tokens, cache_write_1h_tokens, reported_nanos, price_id, computed_nanos,
    charged_nanos, late, operation, at, booked_at, batch)
SELECT @workspace_id, t.id, t.job_id, t.epoch, t.agent_id, t.product_id, t.provider, t.model, t.provider_session, t.input_tokens,
    t.output_tokens, t.cache_read_tokens, t.cache_write_tokens, t.cache_write_1h_tokens,
    CASE WHEN t.reported_nanos >= 0 THEN t.reported_nanos END, nullif(t.price_id, 0),
    CASE WHEN t.computed_nanos >= 0 THEN t.computed_nanos END, t.charged_nanos, t.late, t.operation, t.at, t.booked_at, t.batch
FROM (SELECT unnest(@ids::text[]) AS id, unnest(@job_ids::uuid[]) AS job_id, unnest(@epochs::bigint[]) AS epoch,
    unnest(@agent_ids::uuid[]) AS agent_id, unnest(@product_ids::uuid[]) AS product_id, unnest(@providers::text[]) AS provider,
    unnest(@models::text[]) AS model, unnest(@provider_sessions::text[]) AS provider_session, unnest(@input_tokens::bigint[]) AS input_tokens,
    unnest(@output_tokens::bigint[]) AS output_tokens, unnest(@cache_read_tokens::bigint[]) AS cache_read_tokens,
    unnest(@cache_write_tokens::bigint[]) AS cache_write_tokens, unnest(@cache_write_1h_tokens::bigint[]) AS cache_write_1h_tokens,
    unnest(@reported_nanos::bigint[]) AS reported_nanos, unnest(@price_ids::bigint[]) AS price_id,
    unnest(@computed_nanos::bigint[]) AS computed_nanos, unnest(@charged_nanos::bigint[]) AS charged_nanos,
    unnest(@lates::boolean[]) AS late, unnest(@operations::text[]) AS operation, unnest(@ats::timestamptz[]) AS at,
    unnest(@booked_ats::timestamptz[]) AS booked_at, unnest(@batches::boolean[]) AS batch) t
ORDER BY t.job_id, t.id COLLATE "C"
ON CONFLICT (workspace_id, job_id, id) DO NOTHING
RETURNING job_id, id;

-- name: UsageLock :many
-- Locks entries that are there, in the order of their jobs and ids, and reads what may be
-- raised of them and what they are booked under. One look for each, whatever the statistics
-- say.
SELECT e.id, e.job_id, e.epoch, e.product_id, e.provider, e.model, e.input_tokens, e.output_tokens, e.cache_read_tokens,
    e.cache_write_tokens, e.cache_write_1h_tokens, e.reported_nanos, e.price_id, e.charged_nanos, e.computed_nanos, e.batch
FROM (SELECT u.job_id, u.id FROM (SELECT unnest(@job_ids::uuid[]) AS job_id, unnest(@ids::text[]) AS id) u ORDER BY u.job_id, u.id COLLATE "C") n
CROSS JOIN LATERAL (SELECT x.* FROM usage_entry x WHERE x.workspace_id = @workspace_id AND x.job_id = n.job_id AND x.id = n.id
    OFFSET 0 FOR NO KEY UPDATE) e;

-- name: UsageToPrice :many
-- Entries of which no cost is known, in the order of their instants.
SELECT e.id, e.booked_at, e.job_id, e.epoch, e.provider, e.model
FROM usage_entry e WHERE e.workspace_id = @workspace_id AND e.price_id IS NULL AND e.reported_nanos IS NULL
    AND (e.booked_at, e.id, e.job_id) > (@after_at::timestamptz, @after_id::text, @after_job::uuid)
ORDER BY e.booked_at, e.id, e.job_id LIMIT @max_rows;

-- name: UsageHold :many
-- Locks the sums of leases that nobody else has locked.
SELECT u.job_id, u.epoch FROM job_usage u
WHERE u.workspace_id = @workspace_id AND u.job_id = ANY(@job_ids::uuid[]) AND u.epoch = ANY(@epochs::bigint[])
ORDER BY u.job_id, u.epoch FOR NO KEY UPDATE SKIP LOCKED;

-- name: UsageLockFree :many
-- Those of the entries that nobody else has locked, locked, and what they are booked under.
SELECT e.id, e.job_id, e.epoch, e.product_id, e.provider, e.model, e.input_tokens, e.output_tokens, e.cache_read_tokens,
    e.cache_write_tokens, e.cache_write_1h_tokens, e.reported_nanos, e.price_id, e.charged_nanos, e.computed_nanos, e.batch
FROM (SELECT u.job_id, u.id FROM (SELECT unnest(@job_ids::uuid[]) AS job_id, unnest(@ids::text[]) AS id) u ORDER BY u.job_id, u.id COLLATE "C") n
CROSS JOIN LATERAL (SELECT x.* FROM usage_entry x WHERE x.workspace_id = @workspace_id AND x.job_id = n.job_id AND x.id = n.id
    OFFSET 0 FOR NO KEY UPDATE SKIP LOCKED) e;

-- name: UsageBooked :many
-- What the usage of leases was booked under before, one row for each lease.
SELECT DISTINCT ON (u.job_id, u.epoch) u.job_id, u.epoch, u.phase, u.repo, u.agent, u.factory
FROM (SELECT unnest(@job_ids::uuid[]) AS job_id, unnest(@epochs::bigint[]) AS epoch) n
CROSS JOIN LATERAL (SELECT x.* FROM usage_hour x WHERE x.workspace_id = @workspace_id AND x.job_id = n.job_id AND x.epoch = n.epoch LIMIT 1) u;

-- name: UsageRaise :exec
-- Writes the numbers of locked entries. They are there, and so nothing is added: a conflict
-- finds each by its key, whatever the statistics say.
INSERT INTO usage_entry AS e (workspace_id, id, job_id, epoch, agent_id, product_id, provider, model, provider_session, input_tokens,
    output_tokens, cache_read_tokens, cache_write_tokens, cache_write_1h_tokens, reported_nanos, price_id, computed_nanos,
    charged_nanos, operation, at)
SELECT @workspace_id, t.id, t.job_id, t.epoch, t.agent_id, t.product_id, t.provider, t.model, '', t.input_tokens, t.output_tokens,
    t.cache_read_tokens, t.cache_write_tokens, t.cache_write_1h_tokens, t.reported_nanos, t.price_id, t.computed_nanos,
    t.charged_nanos, '', now()
FROM jsonb_to_recordset(@entries::jsonb) AS t(id text, job_id uuid, epoch bigint, agent_id uuid, product_id uuid, provider text, model text,
    price_id bigint, input_tokens bigint, output_tokens bigint, cache_read_tokens bigint, cache_write_tokens bigint,
    cache_write_1h_tokens bigint, reported_nanos bigint, computed_nanos bigint, charged_nanos bigint)
ORDER BY t.job_id, t.id COLLATE "C"
ON CONFLICT (workspace_id, job_id, id) DO UPDATE SET input_tokens = excluded.input_tokens, output_tokens = excluded.output_tokens,
    cache_read_tokens = excluded.cache_read_tokens, cache_write_tokens = excluded.cache_write_tokens,
    cache_write_1h_tokens = excluded.cache_write_1h_tokens, reported_nanos = excluded.reported_nanos,
    computed_nanos = excluded.computed_nanos, charged_nanos = excluded.charged_nanos, price_id = excluded.price_id;

-- name: UsageSum :exec
-- Raises the sums of leases, and those of leases by the hour and the model, by what
-- entries were raised. Everybody takes first those and then these, in their orders.
WITH t AS MATERIALIZED (
    SELECT
        (r.r ->> 'job_id')::uuid AS job_id, (r.r ->> 'epoch')::bigint AS epoch, (r.r ->> 'hour')::timestamptz AS hour,
        (r.r ->> 'provider')::text AS provider, (r.r ->> 'model')::text AS model, (r.r ->> 'product_id')::uuid AS product_id,
        (r.r ->> 'phase')::text AS phase, (r.r ->> 'repo')::text AS repo, (r.r ->> 'agent')::text AS agent,
        (r.r ->> 'factory')::text AS factory, (r.r ->> 'entries')::bigint AS entries, (r.r ->> 'unpriced')::bigint AS unpriced,
        (r.r ->> 'input_tokens')::bigint AS input_tokens, (r.r ->> 'output_tokens')::bigint AS output_tokens,
        (r.r ->> 'cache_read_tokens')::bigint AS cache_read_tokens, (r.r ->> 'cache_write_tokens')::bigint AS cache_write_tokens,
        (r.r ->> 'cache_write_1h_tokens')::bigint AS cache_write_1h_tokens, (r.r ->> 'charged_nanos')::bigint AS charged_nanos,
        (r.r ->> 'computed_nanos')::bigint AS computed_nanos, (r.r ->> 'reported_nanos')::bigint AS reported_nanos,
        (r.r ->> 'imputed_nanos')::bigint AS imputed_nanos, (r.r ->> 'unpriced_tokens')::bigint AS unpriced_tokens
    FROM (SELECT jsonb_array_elements(@raised::jsonb) AS r) r
), leases AS (
    INSERT INTO job_usage AS u (workspace_id, job_id, epoch, entries, unpriced, input_tokens, output_tokens, cache_read_tokens,
        cache_write_tokens, cache_write_1h_tokens, charged_nanos, computed_nanos, reported_nanos, imputed_nanos, unpriced_tokens,
        since_nanos, since_at)
    SELECT @workspace_id, t.job_id, t.epoch, sum(t.entries), sum(t.unpriced), sum(t.input_tokens), sum(t.output_tokens),
        sum(t.cache_read_tokens), sum(t.cache_write_tokens), sum(t.cache_write_1h_tokens), sum(t.charged_nanos), sum(t.computed_nanos),
        sum(t.reported_nanos), sum(t.imputed_nanos), sum(t.unpriced_tokens), sum(t.charged_nanos),
        (SELECT l.progress_at FROM job_lease l WHERE l.workspace_id = @workspace_id AND l.job_id = t.job_id AND l.epoch = t.epoch)
    FROM t WHERE (SELECT 1 FROM attempt a WHERE a.workspace_id = @workspace_id AND a.job_id = t.job_id AND a.epoch = t.epoch) IS NOT NULL
    GROUP BY t.job_id, t.epoch ORDER BY t.job_id, t.epoch
    ON CONFLICT (workspace_id, job_id, epoch) DO UPDATE SET entries = u.entries + excluded.entries,
        unpriced = u.unpriced + excluded.unpriced, input_tokens = u.input_tokens + excluded.input_tokens,
        output_tokens = u.output_tokens + excluded.output_tokens, cache_read_tokens = u.cache_read_tokens + excluded.cache_read_tokens,
        cache_write_tokens = u.cache_write_tokens + excluded.cache_write_tokens,
        cache_write_1h_tokens = u.cache_write_1h_tokens + excluded.cache_write_1h_tokens,
        charged_nanos = u.charged_nanos + excluded.charged_nanos, computed_nanos = u.computed_nanos + excluded.computed_nanos,
        reported_nanos = u.reported_nanos + excluded.reported_nanos, imputed_nanos = u.imputed_nanos + excluded.imputed_nanos,
        unpriced_tokens = u.unpriced_tokens + excluded.unpriced_tokens,
        since_nanos = excluded.since_nanos + CASE WHEN u.since_at IS NOT DISTINCT FROM excluded.since_at THEN u.since_nanos ELSE 0 END,
        since_at = excluded.since_at
)
INSERT INTO usage_hour AS u (workspace_id, hour, job_id, epoch, provider, model, product_id, phase, repo, agent, factory, entries,
    input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, cache_write_1h_tokens, charged_nanos, computed_nanos,
    reported_nanos, imputed_nanos, unpriced_tokens, unpriced)
SELECT @workspace_id, t.hour, t.job_id, t.epoch, t.provider, t.model, t.product_id, t.phase, t.repo, t.agent, t.factory, t.entries,
    t.input_tokens, t.output_tokens, t.cache_read_tokens, t.cache_write_tokens, t.cache_write_1h_tokens, t.charged_nanos,
    t.computed_nanos, t.reported_nanos, t.imputed_nanos, t.unpriced_tokens, t.unpriced
FROM t ORDER BY t.hour, t.job_id, t.epoch, t.provider, t.model, t.product_id
ON CONFLICT (workspace_id, hour, job_id, epoch, provider, model, product_id) DO UPDATE SET entries = u.entries + excluded.entries,
    input_tokens = u.input_tokens + excluded.input_tokens, output_tokens = u.output_tokens + excluded.output_tokens,
    cache_read_tokens = u.cache_read_tokens + excluded.cache_read_tokens,
    cache_write_tokens = u.cache_write_tokens + excluded.cache_write_tokens,
    cache_write_1h_tokens = u.cache_write_1h_tokens + excluded.cache_write_1h_tokens,
    charged_nanos = u.charged_nanos + excluded.charged_nanos, computed_nanos = u.computed_nanos + excluded.computed_nanos,
    reported_nanos = u.reported_nanos + excluded.reported_nanos, imputed_nanos = u.imputed_nanos + excluded.imputed_nanos,
    unpriced_tokens = u.unpriced_tokens + excluded.unpriced_tokens, unpriced = u.unpriced + excluded.unpriced;

-- name: UsageOfJob :one
-- The sums of all attempts on a job. A cost beyond the greatest number is that one.
SELECT coalesce(sum(entries), 0)::bigint AS entries, coalesce(sum(input_tokens), 0)::bigint AS input_tokens,
    coalesce(sum(output_tokens), 0)::bigint AS output_tokens, coalesce(sum(cache_read_tokens), 0)::bigint AS cache_read_tokens,
    coalesce(sum(cache_write_tokens), 0)::bigint AS cache_write_tokens,
    coalesce(sum(cache_write_1h_tokens), 0)::bigint AS cache_write_1h_tokens,
    least(coalesce(sum(charged_nanos), 0), 9223372036854775807)::bigint AS charged_nanos,
    least(coalesce(sum(computed_nanos), 0), 9223372036854775807)::bigint AS computed_nanos,
    least(coalesce(sum(reported_nanos), 0), 9223372036854775807)::bigint AS reported_nanos,
    least(coalesce(sum(imputed_nanos), 0), 9223372036854775807)::bigint AS imputed_nanos,
    coalesce(sum(unpriced_tokens), 0)::bigint AS unpriced_tokens, coalesce(sum(unpriced), 0)::bigint AS unpriced
FROM job_usage WHERE workspace_id = @workspace_id AND job_id = @job_id;

-- name: JobsSpent :many
-- What jobs have cost, and how much of that since the last progress of the lease that lasts.
SELECT u.job_id, least(sum(u.charged_nanos), 9223372036854775807)::bigint AS charged_nanos, sum(u.entries)::bigint AS entries,
    sum(u.unpriced)::bigint AS unpriced, coalesce(sum(u.since_nanos) FILTER (WHERE u.since_at IS NOT DISTINCT FROM l.progress_at
        AND u.epoch = l.epoch), 0)::bigint AS since_nanos
FROM (SELECT unnest(@job_ids::uuid[]) AS id) n
CROSS JOIN LATERAL (SELECT x.* FROM job_usage x WHERE x.workspace_id = @workspace_id AND x.job_id = n.id OFFSET 0) u
LEFT JOIN job_lease l ON l.workspace_id = @workspace_id AND l.job_id = n.id
GROUP BY u.job_id;

-- name: UsageOfLeases :many
-- One look for each lease, whatever the statistics say.
SELECT u.*
FROM (SELECT unnest(@job_ids::uuid[]) AS job_id, unnest(@epochs::bigint[]) AS epoch) n
CROSS JOIN LATERAL (
    SELECT x.* FROM job_usage x WHERE x.workspace_id = @workspace_id AND x.job_id = n.job_id AND x.epoch = n.epoch OFFSET 0
) u;

-- name: UsageAgainstBudget :one
-- How many tokens of all kinds a job has used and what it has cost, and whether that is
-- more than its own ceilings.
SELECT j.key, j.token_budget, j.budget_nanos, u.used::bigint AS used, u.charged::bigint AS charged_nanos,
    coalesce(u.used > j.token_budget, false)::boolean AS is_over_tokens, coalesce(u.charged > j.budget_nanos, false)::boolean AS is_over_money
FROM job j CROSS JOIN LATERAL (SELECT least(coalesce(sum(s.input_tokens + s.output_tokens + s.cache_read_tokens + s.cache_write_tokens
        + s.cache_write_1h_tokens), 0), 9223372036854775807)::bigint AS used,
    least(coalesce(sum(s.charged_nanos), 0), 9223372036854775807)::bigint AS charged
    FROM job_usage s WHERE s.workspace_id = @workspace_id AND s.job_id = @job_id) u
WHERE j.workspace_id = @workspace_id AND j.id = @job_id;

-- name: JobsToPauseForBudget :many
-- Those of the jobs that have used more than their own ceilings and whose holder is not
-- asked to stop yet.
SELECT j.id FROM job j JOIN job_lease l ON l.workspace_id = j.workspace_id AND l.job_id = j.id
WHERE j.workspace_id = @workspace_id AND j.id = ANY(@ids::uuid[]) AND l.job_id = ANY(@ids::uuid[])
    AND (l.directive NOT IN ('pause', 'cancel') OR l.directive = 'pause' AND l.directive_by_kind = 'system' AND l.directive_by_id = 'preemption')
    AND (SELECT sum(s.input_tokens + s.output_tokens + s.cache_read_tokens + s.cache_write_tokens + s.cache_write_1h_tokens) > j.token_budget
            OR sum(s.charged_nanos) > j.budget_nanos
        FROM job_usage s WHERE s.workspace_id = @workspace_id AND s.job_id = j.id);
