-- The history that estimates go by.

-- name: JobCostExtend :one
-- Takes the jobs that ended after the last one that was looked at into the history, the
-- oldest first, once their end is some seconds ago, so that late usage is in there. A
-- job of which some usage has neither a price nor a reported cost is left out. Minutes
-- are the most of each step of complexity. Gives how many jobs were looked at.
WITH seen AS (
    SELECT c.ended_at, c.job_id FROM job_cost_cursor c WHERE c.workspace_id = @workspace_id
), bounds AS MATERIALIZED (
    SELECT coalesce((SELECT seen.ended_at FROM seen), '-infinity') AS ended_at,
        coalesce((SELECT seen.job_id FROM seen), '00000000-0000-0000-0000-000000000000') AS job_id
), due AS MATERIALIZED (
    SELECT * FROM (
        (SELECT j.id, j.status_at, j.kind, j.repo, j.complexity, j.estimated_minutes, j.priority, j.failure_count FROM job j
        WHERE j.workspace_id = @workspace_id AND j.status = 'completed'
            AND (j.status_at, j.id) > ((SELECT b.ended_at FROM bounds b), (SELECT b.job_id FROM bounds b))
            AND j.status_at < statement_timestamp() - make_interval(secs => @settle_seconds)
        ORDER BY j.status_at, j.id LIMIT @max_rows)
        UNION ALL
        (SELECT j.id, j.status_at, j.kind, j.repo, j.complexity, j.estimated_minutes, j.priority, j.failure_count FROM job j
        WHERE j.workspace_id = @workspace_id AND j.status = 'failed'
            AND (j.status_at, j.id) > ((SELECT b.ended_at FROM bounds b), (SELECT b.job_id FROM bounds b))
            AND j.status_at < statement_timestamp() - make_interval(secs => @settle_seconds)
        ORDER BY j.status_at, j.id LIMIT @max_rows)
    ) either ORDER BY either.status_at, either.id LIMIT @max_rows
), added AS (
    INSERT INTO job_cost (workspace_id, job_id, ended_at, kind, repo, complexity, priority, failures, model, input_tokens,
        cache_read_tokens, cache_write_tokens, cache_write_1h_tokens, output_tokens, tokens, cost_nanos)
    SELECT @workspace_id, d.id, d.status_at, d.kind, d.repo,
        coalesce(d.complexity, width_bucket(d.estimated_minutes - 1, @minutes::integer[]) + 1, 0), d.priority, d.failure_count,
        coalesce((SELECT h.model FROM usage_hour h WHERE h.workspace_id = @workspace_id AND h.job_id = d.id GROUP BY h.model
            ORDER BY sum(h.input_tokens + h.cache_read_tokens + h.cache_write_tokens + h.cache_write_1h_tokens + h.output_tokens) DESC,
                h.model LIMIT 1), ''),
        u.input_tokens, u.cache_read_tokens, u.cache_write_tokens, u.cache_write_1h_tokens, u.output_tokens, u.tokens, u.cost_nanos
    FROM due d
    CROSS JOIN LATERAL (
        SELECT s.*, s.input_tokens + s.cache_read_tokens + s.cache_write_tokens + s.cache_write_1h_tokens + s.output_tokens AS tokens
        FROM (SELECT least(sum(x.input_tokens), 1000000000000000)::bigint AS input_tokens,
                least(sum(x.cache_read_tokens), 1000000000000000)::bigint AS cache_read_tokens,
                least(sum(x.cache_write_tokens), 1000000000000000)::bigint AS cache_write_tokens,
                least(sum(x.cache_write_1h_tokens), 1000000000000000)::bigint AS cache_write_1h_tokens,
                least(sum(x.output_tokens), 1000000000000000)::bigint AS output_tokens,
                least(sum(x.charged_nanos::numeric + x.imputed_nanos), 9223372036854775807)::bigint AS cost_nanos,
                sum(x.unpriced) AS unpriced
            FROM job_usage x WHERE x.workspace_id = @workspace_id AND x.job_id = d.id) s
    ) u
    WHERE u.tokens > 0 AND u.cost_nanos > 0 AND u.unpriced = 0 AND d.kind <> 'verify'
    ON CONFLICT (workspace_id, job_id) DO UPDATE SET ended_at = excluded.ended_at, kind = excluded.kind, repo = excluded.repo,
        complexity = excluded.complexity, priority = excluded.priority, failures = excluded.failures, model = excluded.model,
        input_tokens = excluded.input_tokens, cache_read_tokens = excluded.cache_read_tokens,
        cache_write_tokens = excluded.cache_write_tokens, cache_write_1h_tokens = excluded.cache_write_1h_tokens,
        output_tokens = excluded.output_tokens, tokens = excluded.tokens, cost_nanos = excluded.cost_nanos
), moved AS (
    INSERT INTO job_cost_cursor (workspace_id, ended_at, job_id)
    SELECT @workspace_id, d.status_at, d.id FROM due d ORDER BY d.status_at DESC, d.id DESC LIMIT 1
    ON CONFLICT (workspace_id) DO UPDATE SET ended_at = excluded.ended_at, job_id = excluded.job_id
)
SELECT count(*)::int FROM due;

-- name: JobCostGroups :many
-- How much the newest finished jobs of each group cost: for each question the groups
-- from all jobs to those of the same kind, complexity and repo; none without jobs.
SELECT a.question::int AS question, g.level::int AS level, g.jobs::int AS jobs, g.costs::float8[] AS costs, g.tokens::float8 AS tokens
FROM (SELECT unnest(@kinds::text[]) AS kind, unnest(@repos::text[]) AS repo, unnest(@complexities::smallint[]) AS complexity,
    generate_subscripts(@kinds::text[], 1) - 1 AS question) a
CROSS JOIN LATERAL (
    SELECT 0 AS level, count(*) AS jobs, percentile_cont(ARRAY[0.5, 0.9]) WITHIN GROUP (ORDER BY n.cost_nanos) AS costs,
        percentile_cont(0.5) WITHIN GROUP (ORDER BY n.tokens) AS tokens
    FROM (SELECT c.cost_nanos, c.tokens FROM job_cost c WHERE c.workspace_id = @workspace_id
        ORDER BY c.ended_at DESC, c.job_id DESC LIMIT @newest) n
    UNION ALL
    SELECT 1, count(*), percentile_cont(ARRAY[0.5, 0.9]) WITHIN GROUP (ORDER BY n.cost_nanos),
        percentile_cont(0.5) WITHIN GROUP (ORDER BY n.tokens)
    FROM (SELECT c.cost_nanos, c.tokens FROM job_cost c WHERE c.workspace_id = @workspace_id AND c.kind = a.kind
        ORDER BY c.ended_at DESC, c.job_id DESC LIMIT @newest) n
    UNION ALL
    SELECT 2, count(*), percentile_cont(ARRAY[0.5, 0.9]) WITHIN GROUP (ORDER BY n.cost_nanos),
        percentile_cont(0.5) WITHIN GROUP (ORDER BY n.tokens)
    FROM (SELECT c.cost_nanos, c.tokens FROM job_cost c WHERE c.workspace_id = @workspace_id AND c.kind = a.kind
        AND c.complexity = a.complexity ORDER BY c.ended_at DESC, c.job_id DESC LIMIT @newest) n
    UNION ALL
    SELECT 3, count(*), percentile_cont(ARRAY[0.5, 0.9]) WITHIN GROUP (ORDER BY n.cost_nanos),
        percentile_cont(0.5) WITHIN GROUP (ORDER BY n.tokens)
    FROM (SELECT c.cost_nanos, c.tokens FROM job_cost c WHERE c.workspace_id = @workspace_id AND c.kind = a.kind
        AND c.complexity = a.complexity AND c.repo = a.repo ORDER BY c.ended_at DESC, c.job_id DESC LIMIT @newest) n
) g
WHERE g.jobs > 0 ORDER BY 1, 2;

-- name: JobCostAll :many
-- The history in the order in which jobs ended, after one of them.
SELECT c.job_id, c.ended_at, c.kind, c.repo, c.complexity, c.priority, c.failures, c.model, c.input_tokens, c.cache_read_tokens,
    c.cache_write_tokens, c.cache_write_1h_tokens, c.output_tokens, c.cost_nanos
FROM job_cost c
WHERE c.workspace_id = @workspace_id AND (c.ended_at, c.job_id) > (@after_at::timestamptz, @after_id::uuid)
ORDER BY c.ended_at, c.job_id LIMIT @max_rows;

-- name: JobCostNewest :many
-- The newest of the history with the jobs' keys, which are empty where a job was deleted.
SELECT coalesce((SELECT j.key FROM job j WHERE j.workspace_id = @workspace_id AND j.id = c.job_id), '')::text AS key, c.ended_at,
    c.kind, c.repo, c.complexity, c.priority, c.cost_nanos, c.tokens
FROM job_cost c WHERE c.workspace_id = @workspace_id
ORDER BY c.ended_at DESC, c.job_id DESC LIMIT @max_rows;
