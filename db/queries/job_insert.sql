-- name: JobInsert :one
-- Writes jobs with their texts, ready rows and events in the order of the arrays,
-- which are equally long: one statement whatever their number. What a job may lack
-- is its type's zero; lists come as array literals, since arrays of arrays cannot
-- be ragged; ids as texts, which the client sends at a third of the price. COPY is not possible beside the policies. The answer is the time that
-- all rows carry.
WITH input AS MATERIALIZED (
    SELECT unnest(@ids::text[])::uuid AS id, unnest(@keys::text[]) AS key, unnest(@titles::text[]) AS title,
        unnest(@kinds::text[]) AS kind, unnest(@product_ids::text[])::uuid AS product_id, unnest(@repos::text[]) AS repo,
        unnest(@phases::text[]) AS phase, unnest(@priorities::smallint[]) AS priority,
        unnest(@capabilities::text[]) AS capabilities, unnest(@factories::text[]) AS factory,
        unnest(@lane_ids::bigint[]) AS lane_id, unnest(@tags::text[]) AS tags, unnest(@files::text[]) AS files, unnest(@statuses::text[]) AS status,
        unnest(@wait_reasons::text[]) AS wait_reason, unnest(@blocked_reasons::text[]) AS blocked_reason, unnest(@max_retries::integer[]) AS max_retries,
        unnest(@max_lost::integer[]) AS max_lost, unnest(@retry_backoff_seconds::integer[]) AS retry_backoff_seconds,
        unnest(@review_required::text[]) AS review_required, unnest(@estimated_complexity::text[]) AS estimated_complexity,
        unnest(@estimated_minutes::integer[]) AS estimated_minutes, unnest(@token_budgets::bigint[]) AS token_budget,
        unnest(@budget_nanos::bigint[]) AS budget_nanos, unnest(@complexities::smallint[]) AS complexity, unnest(@tiers::text[]) AS tier,
        unnest(@not_before::text[]) AS not_before, unnest(@idempotency_keys::text[]) AS idempotency_key,
        unnest(@waits_for_children::boolean[]) AS waits_for_children, unnest(@bodies::text[]) AS body,
        unnest(@acceptances::text[]) AS acceptance, unnest(@input_contexts::text[]) AS input_context,
        unnest(@secret_keys::text[]) AS secret_keys, unnest(@changes::text[]) AS changes, unnest(@payloads::text[]) AS payload
), made AS (
    INSERT INTO job (workspace_id, id, key, title, kind, product_id, repo, phase, priority, capabilities, factory,
        lane_id, tags, files, status, wait_reason, blocked_reason, status_by, status_by_kind, status_by_id, max_retries, max_lost, retry_backoff_seconds,
        review_required, estimated_complexity, estimated_minutes, token_budget, budget_nanos, complexity, tier, not_before, idempotency_key,
        waits_for_children, created_by, ready_at)
    SELECT @workspace_id, id, key, title, kind, product_id, repo, phase, priority, capabilities::text[], factory,
        lane_id, tags::text[], files::text[], status, wait_reason, blocked_reason, @created_by, @actor_kind, @actor_id, max_retries, max_lost,
        retry_backoff_seconds,
        nullif(review_required, '')::boolean, estimated_complexity, nullif(estimated_minutes, 0), nullif(token_budget, 0),
        nullif(budget_nanos, 0), nullif(complexity, 0), tier,
        nullif(not_before, '')::timestamptz, nullif(idempotency_key, ''), waits_for_children, @created_by,
        CASE WHEN status = 'ready' THEN now() END
    FROM input
), written AS (
    INSERT INTO job_text (workspace_id, job_id, body, acceptance, input_context, secret_keys)
    SELECT @workspace_id, id, body, acceptance::jsonb, input_context::jsonb, secret_keys::text[] FROM input
), readied AS (
    INSERT INTO job_ready (workspace_id, lane_id, priority, ready_at, place, delay_minutes, job_id)
    SELECT @workspace_id, i.lane_id, i.priority, now(), now() + make_interval(mins => i.delay), i.delay, i.id
    FROM (SELECT n.lane_id, n.priority, n.id, estimate_delay((SELECT d.short_jobs_first FROM dispatch_setting d
            WHERE d.workspace_id = @workspace_id), n.estimated_minutes) AS delay FROM input n WHERE n.status = 'ready') i
), logged AS (
    INSERT INTO event (workspace_id, type, job_id, actor, actor_kind, actor_id, saved_at, changes, payload)
    SELECT @workspace_id, 'job.created', id, @created_by, @actor_kind, @actor_id, now(), changes::jsonb, payload::jsonb FROM input
    RETURNING id, job_id
), told AS MATERIALIZED (
    SELECT c.job_id::uuid AS job_id, decode(c.sum, 'hex') AS sha256, c.body FROM (
        SELECT unnest(@content_jobs::text[]) AS job_id, unnest(@content_sums::text[]) AS sum, unnest(@content_bodies::text[]) AS body) c
), kept AS (
    INSERT INTO content (workspace_id, sha256, body) SELECT @workspace_id, t.sha256, t.body FROM told t ORDER BY t.sha256
    ON CONFLICT (workspace_id, sha256) DO NOTHING
), referred AS (
    INSERT INTO event_content (workspace_id, event_id, sha256)
    SELECT DISTINCT @workspace_id::uuid, l.id, t.sha256 FROM told t JOIN logged l ON l.job_id = t.job_id
)
SELECT now()::timestamptz AS made_at;

-- name: JobKeysTake :one
-- Takes n numbers for keys: the first of them, and what stands before it in a key.
UPDATE job_number SET next = next + @n::bigint WHERE workspace_id = @workspace_id
RETURNING (next - @n::bigint)::bigint AS first,
    (SELECT w.job_prefix FROM workspace w WHERE w.id = @workspace_id)::text AS prefix;
