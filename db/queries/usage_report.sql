-- Reports of usage. They read the sums by the hour; entries are read page by page alone.
-- A list that is null filters nothing.

-- name: UsageSums :many
-- The sums of hours in groups of each of the dimensions, and the number of groups that
-- each dimension has. The dearest of the largest dimensions come first; days and hours
-- follow time. The dimension 'total' is one group.
WITH kept AS (
    SELECT h.* FROM usage_hour h
    WHERE h.workspace_id = @workspace_id AND h.hour >= @since AND h.hour < @until
        AND (sqlc.narg('product')::text[] IS NULL OR h.product_id = ANY(ARRAY(
            SELECT p.id FROM product p WHERE p.workspace_id = @workspace_id AND p.name = ANY(sqlc.narg('product')::text[]))))
        AND (sqlc.narg('phase')::text[] IS NULL OR h.phase = ANY(sqlc.narg('phase')::text[]))
        AND (sqlc.narg('repo')::text[] IS NULL OR h.repo = ANY(sqlc.narg('repo')::text[]))
        AND (sqlc.narg('provider')::text[] IS NULL OR h.provider = ANY(sqlc.narg('provider')::text[]))
        AND (sqlc.narg('model')::text[] IS NULL OR h.model = ANY(sqlc.narg('model')::text[]))
        AND (sqlc.narg('agent')::text[] IS NULL OR h.agent = ANY(sqlc.narg('agent')::text[]))
        AND (sqlc.narg('factory')::text[] IS NULL OR h.factory = ANY(sqlc.narg('factory')::text[]))
        AND (sqlc.narg('job')::text[] IS NULL OR h.job_id = ANY(ARRAY(
            SELECT j.id FROM job j WHERE j.workspace_id = @workspace_id AND j.key = ANY(sqlc.narg('job')::text[]))))
), groups AS (
    SELECT d.dimension::text AS dimension, v.value::text AS value, sum(k.entries)::bigint AS entries, sum(k.input_tokens)::bigint AS input_tokens,
        sum(k.output_tokens)::bigint AS output_tokens, sum(k.cache_read_tokens)::bigint AS cache_read_tokens,
        sum(k.cache_write_tokens)::bigint AS cache_write_tokens, sum(k.cache_write_1h_tokens)::bigint AS cache_write_1h_tokens,
        least(sum(k.charged_nanos), 9223372036854775807)::bigint AS charged_nanos,
        least(sum(k.computed_nanos), 9223372036854775807)::bigint AS computed_nanos,
        least(sum(k.reported_nanos), 9223372036854775807)::bigint AS reported_nanos,
        least(sum(k.imputed_nanos), 9223372036854775807)::bigint AS imputed_nanos, sum(k.unpriced_tokens)::bigint AS unpriced_tokens,
        sum(k.unpriced)::bigint AS unpriced
    FROM kept k CROSS JOIN unnest(@dimensions::text[]) AS d(dimension)
    CROSS JOIN LATERAL (SELECT CASE d.dimension WHEN 'total' THEN '' WHEN 'product' THEN k.product_id::text WHEN 'phase' THEN k.phase
        WHEN 'repo' THEN k.repo WHEN 'model' THEN k.model WHEN 'provider' THEN k.provider WHEN 'agent' THEN k.agent
        WHEN 'factory' THEN k.factory WHEN 'job' THEN k.job_id::text
        WHEN 'purpose' THEN CASE WHEN EXISTS (SELECT FROM job_verify v WHERE v.workspace_id = @workspace_id AND v.verify_job_id = k.job_id)
            THEN 'verify' ELSE 'work' END
        WHEN 'day' THEN to_char(k.hour AT TIME ZONE 'UTC', 'YYYY-MM-DD')
        WHEN 'hour' THEN to_char(k.hour AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:00:00"Z"') END AS value) v
    GROUP BY d.dimension, v.value
)
SELECT r.dimension, r.value, r.entries, r.input_tokens, r.output_tokens, r.cache_read_tokens, r.cache_write_tokens,
    r.cache_write_1h_tokens, r.charged_nanos, r.computed_nanos, r.reported_nanos, r.imputed_nanos, r.unpriced_tokens,
    r.unpriced, r.group_count, coalesce(p.name, j.key, r.value)::text AS name, coalesce(j.title, '')::text AS label
FROM (
    SELECT g.dimension, g.value, g.entries, g.input_tokens, g.output_tokens, g.cache_read_tokens, g.cache_write_tokens,
        g.cache_write_1h_tokens, g.charged_nanos, g.computed_nanos, g.reported_nanos, g.imputed_nanos, g.unpriced_tokens, g.unpriced, count(*) OVER (PARTITION BY g.dimension) AS group_count,
        row_number() OVER (PARTITION BY g.dimension ORDER BY CASE WHEN g.dimension IN ('day', 'hour') THEN g.value END DESC,
            g.charged_nanos DESC, g.input_tokens + g.output_tokens + g.cache_read_tokens + g.cache_write_tokens
            + g.cache_write_1h_tokens DESC, g.value) AS place
    FROM groups g
) r
LEFT JOIN product p ON p.workspace_id = @workspace_id AND p.id = CASE r.dimension WHEN 'product' THEN r.value::uuid END
LEFT JOIN job j ON j.workspace_id = @workspace_id AND j.id = CASE r.dimension WHEN 'job' THEN r.value::uuid END
WHERE r.place <= @max_groups::bigint ORDER BY r.dimension, r.place;

-- name: UsageCharges :many
-- What each attempt used of a model within an hour, in order. What holds no entry of its own only raises earlier
-- ones: it corrects earlier months where the job has entries in those alone.
SELECT h.hour, h.job_id, h.epoch, h.provider, h.model, h.product_id, h.phase, h.repo, h.agent, h.factory, h.entries, h.input_tokens,
    h.output_tokens, h.cache_read_tokens, h.cache_write_tokens, h.cache_write_1h_tokens, h.charged_nanos, h.computed_nanos, h.reported_nanos,
    h.imputed_nanos, h.unpriced_tokens, h.unpriced, coalesce(j.key, '')::text AS job_key, coalesce(p.name, '')::text AS product,
    (h.entries = 0 AND NOT EXISTS (SELECT 1 FROM usage_hour o WHERE o.workspace_id = @workspace_id AND o.job_id = h.job_id AND o.entries > 0
            AND o.hour >= date_trunc('month', h.hour, 'UTC') AND o.hour < date_trunc('month', h.hour, 'UTC') + interval '1 month')
        AND EXISTS (SELECT 1 FROM usage_hour o WHERE o.workspace_id = @workspace_id AND o.job_id = h.job_id AND o.entries > 0
            AND o.hour < date_trunc('month', h.hour, 'UTC')))::boolean AS corrects
FROM usage_hour h
LEFT JOIN job j ON j.workspace_id = h.workspace_id AND j.id = h.job_id
LEFT JOIN product p ON p.workspace_id = h.workspace_id AND p.id = h.product_id
WHERE h.workspace_id = @workspace_id AND h.hour >= @since AND h.hour < @until AND h.hour >= @after_hour::timestamptz
    AND (h.hour, h.job_id, h.epoch, h.provider, h.model, h.product_id) > (@after_hour::timestamptz, @after_job::uuid, @after_epoch::bigint,
        @after_provider::text, @after_model::text, @after_product::uuid)
    AND (sqlc.narg('product')::text[] IS NULL OR h.product_id = ANY(ARRAY(
        SELECT p.id FROM product p WHERE p.workspace_id = @workspace_id AND p.name = ANY(sqlc.narg('product')::text[]))))
    AND (sqlc.narg('phase')::text[] IS NULL OR h.phase = ANY(sqlc.narg('phase')::text[]))
    AND (sqlc.narg('repo')::text[] IS NULL OR h.repo = ANY(sqlc.narg('repo')::text[]))
    AND (sqlc.narg('provider')::text[] IS NULL OR h.provider = ANY(sqlc.narg('provider')::text[]))
    AND (sqlc.narg('model')::text[] IS NULL OR h.model = ANY(sqlc.narg('model')::text[]))
    AND (sqlc.narg('agent')::text[] IS NULL OR h.agent = ANY(sqlc.narg('agent')::text[]))
    AND (sqlc.narg('factory')::text[] IS NULL OR h.factory = ANY(sqlc.narg('factory')::text[]))
    AND (sqlc.narg('job')::text[] IS NULL OR h.job_id = ANY(ARRAY(
        SELECT j.id FROM job j WHERE j.workspace_id = @workspace_id AND j.key = ANY(sqlc.narg('job')::text[]))))
ORDER BY h.hour, h.job_id, h.epoch, h.provider, h.model, h.product_id LIMIT @max_rows;

-- name: UsageSteps :many
-- What named products or models were charged by day or hour.
SELECT g.step, g.name, least(sum(g.charged_nanos), 9223372036854775807)::bigint AS charged_nanos
FROM (
    SELECT to_char(h.hour AT TIME ZONE 'UTC', CASE @step::text WHEN 'day' THEN 'YYYY-MM-DD' ELSE 'YYYY-MM-DD"T"HH24:00:00"Z"' END)::text AS step,
        CASE @dimension::text WHEN 'product' THEN p.name ELSE h.model END::text AS name, h.charged_nanos
    FROM usage_hour h
    LEFT JOIN product p ON p.workspace_id = h.workspace_id AND p.id = h.product_id
    WHERE h.workspace_id = @workspace_id AND h.hour >= @since AND h.hour < @until
        AND (sqlc.narg('product')::text[] IS NULL OR h.product_id = ANY(ARRAY(
            SELECT p.id FROM product p WHERE p.workspace_id = @workspace_id AND p.name = ANY(sqlc.narg('product')::text[]))))
        AND (sqlc.narg('phase')::text[] IS NULL OR h.phase = ANY(sqlc.narg('phase')::text[]))
        AND (sqlc.narg('repo')::text[] IS NULL OR h.repo = ANY(sqlc.narg('repo')::text[]))
        AND (sqlc.narg('provider')::text[] IS NULL OR h.provider = ANY(sqlc.narg('provider')::text[]))
        AND (sqlc.narg('model')::text[] IS NULL OR h.model = ANY(sqlc.narg('model')::text[]))
        AND (sqlc.narg('agent')::text[] IS NULL OR h.agent = ANY(sqlc.narg('agent')::text[]))
        AND (sqlc.narg('factory')::text[] IS NULL OR h.factory = ANY(sqlc.narg('factory')::text[]))
        AND (sqlc.narg('job')::text[] IS NULL OR h.job_id = ANY(ARRAY(
            SELECT j.id FROM job j WHERE j.workspace_id = @workspace_id AND j.key = ANY(sqlc.narg('job')::text[]))))
) g
WHERE g.name = ANY(@names::text[])
GROUP BY g.step, g.name;

-- name: UsageEntries :many
-- Entries with what they were booked under, the newest first. Only hours of which there
-- are sums that pass the filters are looked into.
SELECT e.id, e.booked_at, e.at, e.recorded_at, e.job_id, coalesce(j.key, '')::text AS job_key, e.epoch, e.provider, e.model, e.provider_session, e.operation,
    e.input_tokens, e.output_tokens, e.cache_read_tokens, e.cache_write_tokens, e.cache_write_1h_tokens, e.reported_nanos, e.computed_nanos,
    e.charged_nanos, e.price_id, e.late, e.batch, coalesce(p.name, '')::text AS product, e.phase, e.repo, e.agent, e.factory
FROM (
    SELECT DISTINCT h.hour FROM usage_hour h
    WHERE h.workspace_id = @workspace_id AND h.hour >= @since AND h.hour < @until AND h.hour <= @before_at::timestamptz
        AND (sqlc.narg('product')::text[] IS NULL OR h.product_id = ANY(ARRAY(
            SELECT p.id FROM product p WHERE p.workspace_id = @workspace_id AND p.name = ANY(sqlc.narg('product')::text[]))))
        AND (sqlc.narg('phase')::text[] IS NULL OR h.phase = ANY(sqlc.narg('phase')::text[]))
        AND (sqlc.narg('repo')::text[] IS NULL OR h.repo = ANY(sqlc.narg('repo')::text[]))
        AND (sqlc.narg('provider')::text[] IS NULL OR h.provider = ANY(sqlc.narg('provider')::text[]))
        AND (sqlc.narg('model')::text[] IS NULL OR h.model = ANY(sqlc.narg('model')::text[]))
        AND (sqlc.narg('agent')::text[] IS NULL OR h.agent = ANY(sqlc.narg('agent')::text[]))
        AND (sqlc.narg('factory')::text[] IS NULL OR h.factory = ANY(sqlc.narg('factory')::text[]))
        AND (sqlc.narg('job')::text[] IS NULL OR h.job_id = ANY(ARRAY(
            SELECT j.id FROM job j WHERE j.workspace_id = @workspace_id AND j.key = ANY(sqlc.narg('job')::text[]))))
    ORDER BY h.hour DESC
) hours
CROSS JOIN LATERAL (
    SELECT x.*, h.phase, h.repo, h.agent, h.factory FROM usage_entry x
    JOIN usage_hour h ON h.workspace_id = x.workspace_id AND h.hour = hours.hour AND h.job_id = x.job_id AND h.epoch = x.epoch
        AND h.provider = x.provider AND h.model = x.model AND h.product_id = x.product_id
    WHERE x.workspace_id = @workspace_id AND x.booked_at >= hours.hour AND x.booked_at < hours.hour + interval '1 hour'
        AND (x.booked_at, x.id, x.job_id) < (@before_at::timestamptz, @before_id::text, @before_job::uuid)
        AND (sqlc.narg('product')::text[] IS NULL OR h.product_id = ANY(ARRAY(
            SELECT p.id FROM product p WHERE p.workspace_id = @workspace_id AND p.name = ANY(sqlc.narg('product')::text[]))))
        AND (sqlc.narg('phase')::text[] IS NULL OR h.phase = ANY(sqlc.narg('phase')::text[]))
        AND (sqlc.narg('repo')::text[] IS NULL OR h.repo = ANY(sqlc.narg('repo')::text[]))
        AND (sqlc.narg('provider')::text[] IS NULL OR h.provider = ANY(sqlc.narg('provider')::text[]))
        AND (sqlc.narg('model')::text[] IS NULL OR h.model = ANY(sqlc.narg('model')::text[]))
        AND (sqlc.narg('agent')::text[] IS NULL OR h.agent = ANY(sqlc.narg('agent')::text[]))
        AND (sqlc.narg('factory')::text[] IS NULL OR h.factory = ANY(sqlc.narg('factory')::text[]))
        AND (sqlc.narg('job')::text[] IS NULL OR h.job_id = ANY(ARRAY(
            SELECT j.id FROM job j WHERE j.workspace_id = @workspace_id AND j.key = ANY(sqlc.narg('job')::text[]))))
    ORDER BY x.booked_at DESC, x.id DESC, x.job_id DESC LIMIT @max_rows
) e
LEFT JOIN job j ON j.workspace_id = @workspace_id AND j.id = e.job_id
LEFT JOIN product p ON p.workspace_id = @workspace_id AND p.id = e.product_id
ORDER BY hours.hour DESC, e.booked_at DESC, e.id DESC, e.job_id DESC LIMIT @max_rows;

-- name: UsageModelsOfJob :many
-- What a job used, by model, the dearest first.
SELECT h.provider, h.model, sum(h.entries)::bigint AS entries, sum(h.input_tokens)::bigint AS input_tokens,
    sum(h.output_tokens)::bigint AS output_tokens, sum(h.cache_read_tokens)::bigint AS cache_read_tokens,
    sum(h.cache_write_tokens)::bigint AS cache_write_tokens, sum(h.cache_write_1h_tokens)::bigint AS cache_write_1h_tokens,
    least(sum(h.charged_nanos), 9223372036854775807)::bigint AS charged_nanos,
    least(sum(h.imputed_nanos), 9223372036854775807)::bigint AS imputed_nanos, sum(h.unpriced_tokens)::bigint AS unpriced_tokens, sum(h.unpriced)::bigint AS unpriced
FROM usage_hour h WHERE h.workspace_id = @workspace_id AND h.job_id = @job_id
GROUP BY h.provider, h.model ORDER BY charged_nanos DESC, h.provider, h.model LIMIT @max_groups;

-- name: UsageUnpriced :many
-- The models with entries of which no cost is known, those with the most tokens first.
SELECT h.provider, h.model AS name, sum(h.unpriced_tokens)::bigint AS tokens
FROM usage_hour h WHERE h.workspace_id = @workspace_id AND h.hour >= @since AND h.hour < @until AND h.unpriced > 0
GROUP BY h.provider, h.model ORDER BY tokens DESC, h.provider, h.model LIMIT @max_groups;
