-- Usage of tokens. Entries are found and added by arrays, which are equally long.

-- name: UsageLeases :many
-- Leases that agents name, as they were or are: whose they were, and the product
-- that they are billed to. No agent: the job never had that epoch. With hold the
-- sums of the leases are locked, of those that nobody else has locked; one that
-- somebody has is busy.
WITH held AS MATERIALIZED (
    SELECT u.job_id, u.epoch FROM job_usage u
    WHERE @hold::boolean AND u.workspace_id = @workspace_id AND u.job_id = ANY(@job_ids::uuid[]) AND u.epoch = ANY(@epochs::bigint[])
    ORDER BY u.job_id, u.epoch FOR NO KEY UPDATE SKIP LOCKED
), named AS MATERIALIZED (
    SELECT unnest(@job_ids::uuid[]) AS job_id, unnest(@epochs::bigint[]) AS epoch
)
SELECT n.job_id::uuid AS job_id, n.epoch::bigint AS epoch, j.key, j.product_id, j.has_budget,
    (SELECT p.name FROM product p WHERE p.workspace_id = @workspace_id AND p.id = j.product_id)::text AS product,
    coalesce((SELECT a.agent FROM attempt a WHERE a.workspace_id = @workspace_id AND a.job_id = n.job_id AND a.epoch = n.epoch), '')::text AS agent,
    coalesce((SELECT u.cost_nanos FROM job_usage u WHERE u.workspace_id = @workspace_id AND u.job_id = n.job_id AND u.epoch = n.epoch), 0)::bigint AS cost_nanos,
    (@hold::boolean AND EXISTS (SELECT FROM job_usage u WHERE u.workspace_id = @workspace_id AND u.job_id = n.job_id AND u.epoch = n.epoch)
        AND NOT EXISTS (SELECT FROM held h WHERE h.job_id = n.job_id AND h.epoch = n.epoch))::boolean AS busy,
    EXISTS (SELECT FROM job_secret s WHERE s.workspace_id = @workspace_id AND s.job_id = n.job_id)::boolean AS has_secrets
FROM named n
CROSS JOIN LATERAL (SELECT k.key, k.product_id, (k.token_budget IS NOT NULL)::boolean AS has_budget FROM job k WHERE k.workspace_id = @workspace_id AND k.id = n.job_id OFFSET 0) j;

-- name: UsageRecord :many
-- Adds entries, of which no two have the same id, and raises the sums of their
-- leases; gives the ids of those that were not there. Everybody takes the entries
-- in the order of their ids and only then the sums in theirs, so that nobody waits
-- for somebody who waits for him. A cost below zero is unknown.
WITH told AS MATERIALIZED (
    SELECT unnest(@ids::text[]) AS id, unnest(@job_ids::uuid[]) AS job_id, unnest(@epochs::bigint[]) AS epoch,
        unnest(@agent_ids::uuid[]) AS agent_id, unnest(@product_ids::uuid[]) AS product_id, unnest(@providers::text[]) AS provider,
        unnest(@models::text[]) AS model, unnest(@provider_sessions::text[]) AS provider_session,
        unnest(@input_tokens::bigint[]) AS input_tokens, unnest(@output_tokens::bigint[]) AS output_tokens,
        unnest(@cache_read_tokens::bigint[]) AS cache_read_tokens, unnest(@cache_write_tokens::bigint[]) AS cache_write_tokens,
        unnest(@cost_nanos::bigint[]) AS cost_nanos, unnest(@operations::text[]) AS operation, unnest(@ats::timestamptz[]) AS at
), added AS (
    INSERT INTO usage_entry (workspace_id, id, job_id, epoch, agent_id, product_id, provider, model, provider_session, input_tokens,
        output_tokens, cache_read_tokens, cache_write_tokens, cost_nanos, operation, at)
    SELECT @workspace_id, t.id, t.job_id, t.epoch, t.agent_id, t.product_id, t.provider, t.model, t.provider_session, t.input_tokens,
        t.output_tokens, t.cache_read_tokens, t.cache_write_tokens, CASE WHEN t.cost_nanos >= 0 THEN t.cost_nanos END, t.operation, t.at
    FROM told t ORDER BY t.id COLLATE "C"
    ON CONFLICT (workspace_id, id) DO NOTHING
    RETURNING id, job_id, epoch, input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, cost_nanos
), raised AS (
    INSERT INTO job_usage AS u (workspace_id, job_id, epoch, entries, input_tokens, output_tokens, cache_read_tokens,
        cache_write_tokens, cost_nanos, unpriced)
    SELECT @workspace_id, a.job_id, a.epoch, count(*), sum(a.input_tokens), sum(a.output_tokens), sum(a.cache_read_tokens),
        sum(a.cache_write_tokens), coalesce(sum(a.cost_nanos), 0), count(*) FILTER (WHERE a.cost_nanos IS NULL)
    FROM added a GROUP BY a.job_id, a.epoch ORDER BY a.job_id, a.epoch
    ON CONFLICT (workspace_id, job_id, epoch) DO UPDATE SET entries = u.entries + excluded.entries,
        input_tokens = u.input_tokens + excluded.input_tokens, output_tokens = u.output_tokens + excluded.output_tokens,
        cache_read_tokens = u.cache_read_tokens + excluded.cache_read_tokens,
        cache_write_tokens = u.cache_write_tokens + excluded.cache_write_tokens,
        cost_nanos = u.cost_nanos + excluded.cost_nanos, unpriced = u.unpriced + excluded.unpriced
)
SELECT id FROM added;

-- name: UsageNumbers :many
-- The numbers of entries that are there. A cost below zero is unknown.
SELECT id, input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, coalesce(cost_nanos, -1)::bigint AS cost_nanos
FROM usage_entry WHERE workspace_id = @workspace_id AND id = ANY(@ids::text[]);

-- name: UsageOfJob :one
-- The sums of all attempts on a job. A cost beyond the greatest number is that one.
SELECT coalesce(sum(entries), 0)::bigint AS entries, coalesce(sum(input_tokens), 0)::bigint AS input_tokens,
    coalesce(sum(output_tokens), 0)::bigint AS output_tokens, coalesce(sum(cache_read_tokens), 0)::bigint AS cache_read_tokens,
    coalesce(sum(cache_write_tokens), 0)::bigint AS cache_write_tokens,
    least(coalesce(sum(cost_nanos), 0), 9223372036854775807)::bigint AS cost_nanos, coalesce(sum(unpriced), 0)::bigint AS unpriced
FROM job_usage WHERE workspace_id = @workspace_id AND job_id = @job_id;

-- name: UsageOfLeases :many
-- One look for each lease, whatever the statistics say.
SELECT u.job_id, u.epoch, u.entries, u.input_tokens, u.output_tokens, u.cache_read_tokens, u.cache_write_tokens, u.cost_nanos, u.unpriced
FROM (SELECT unnest(@job_ids::uuid[]) AS job_id, unnest(@epochs::bigint[]) AS epoch) n
CROSS JOIN LATERAL (
    SELECT x.* FROM job_usage x WHERE x.workspace_id = @workspace_id AND x.job_id = n.job_id AND x.epoch = n.epoch OFFSET 0
) u;

-- name: UsageAgainstBudget :one
-- How many tokens of all kinds a job has used, and whether that is more than its
-- budget.
SELECT u.used::bigint AS used, coalesce(u.used > j.token_budget, false)::boolean AS is_over
FROM job j CROSS JOIN LATERAL (SELECT least(coalesce(sum(s.input_tokens + s.output_tokens + s.cache_read_tokens + s.cache_write_tokens), 0),
    9223372036854775807)::bigint AS used FROM job_usage s WHERE s.workspace_id = @workspace_id AND s.job_id = @job_id) u
WHERE j.workspace_id = @workspace_id AND j.id = @job_id;

-- name: JobsToPauseForBudget :many
-- Those of the jobs that have used more tokens than their budget and whose holder is
-- not asked to stop yet.
SELECT j.id FROM job j JOIN job_lease l ON l.workspace_id = j.workspace_id AND l.job_id = j.id
WHERE j.workspace_id = @workspace_id AND j.id = ANY(@ids::uuid[]) AND l.job_id = ANY(@ids::uuid[])
    AND l.directive NOT IN ('pause', 'cancel')
    AND j.token_budget < (SELECT sum(s.input_tokens + s.output_tokens + s.cache_read_tokens + s.cache_write_tokens)
        FROM job_usage s WHERE s.workspace_id = @workspace_id AND s.job_id = j.id);
