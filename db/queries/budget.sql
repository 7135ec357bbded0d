-- name: BudgetList :many
-- The budgets that were not removed, or those of them with these ids, by name; with the
-- clock that their periods go by.
SELECT b.id, b.name, b.scope, b.product_id, b.phase, b.job_id, b.period, b.timezone, b.limit_nanos, b.limit_tokens, b.limit_runs,
    b.hard, b.slice_nanos, b.slice_tokens, b.alert_at, b.throttle, b.throttled_below, b.burn_nanos_1h, b.burn_nanos_24h,
    b.burn_nanos_7d, b.exhausted_p50, b.exhausted_p90, b.verdict, b.version, b.created_by, b.created_at,
    b.spent_since, b.unpriced, coalesce(p.name, '')::text AS product, coalesce(j.key, '')::text AS job_key, clock_timestamp()::timestamptz AS read_at
FROM budget b
LEFT JOIN product p ON p.workspace_id = b.workspace_id AND p.id = b.product_id
LEFT JOIN job j ON j.workspace_id = b.workspace_id AND j.id = b.job_id
WHERE b.workspace_id = @workspace_id AND b.removed_at IS NULL
    AND (sqlc.narg('ids')::uuid[] IS NULL OR b.id = ANY(sqlc.narg('ids')::uuid[]))
ORDER BY b.name, b.id;

-- name: BudgetLock :many
-- Keeps budgets from being changed by others until the transaction ends.
SELECT b.id FROM budget b WHERE b.workspace_id = @workspace_id AND b.id = ANY(@ids::uuid[]) AND b.removed_at IS NULL
ORDER BY b.id FOR NO KEY UPDATE;

-- name: BudgetInsert :exec
INSERT INTO budget (workspace_id, id, name, scope, product_id, phase, job_id, scope_key, period, timezone, limit_nanos, limit_tokens,
    limit_runs, hard, slice_nanos, slice_tokens, alert_at, throttle, unpriced, created_by)
VALUES (@workspace_id, @id, @name, @scope, sqlc.narg('product_id'), @phase, sqlc.narg('job_id'), @scope_key, @period, @timezone,
    sqlc.narg('limit_nanos'), sqlc.narg('limit_tokens'), sqlc.narg('limit_runs'), @hard, @slice_nanos, @slice_tokens, @alert_at, @throttle,
    @unpriced, @created_by);

-- name: BudgetSave :exec
UPDATE budget SET name = @name, limit_nanos = sqlc.narg('limit_nanos'), limit_tokens = sqlc.narg('limit_tokens'),
    limit_runs = sqlc.narg('limit_runs'), hard = @hard, slice_nanos = @slice_nanos, slice_tokens = @slice_tokens, alert_at = @alert_at,
    throttle = @throttle, throttled_below = @throttled_below, unpriced = @unpriced, version = version + 1, updated_at = now()
WHERE workspace_id = @workspace_id AND id = @id;

-- name: BudgetRemove :exec
UPDATE budget SET removed_at = now(), version = version + 1, updated_at = now() WHERE workspace_id = @workspace_id AND id = @id;

-- name: BudgetProduct :many
SELECT id FROM product WHERE workspace_id = @workspace_id AND name = @name;

-- name: BudgetJob :many
SELECT id FROM job WHERE workspace_id = @workspace_id AND key = @key;

-- name: BudgetProject :exec
-- Keeps what was foreseen of budgets, in the order of their ids.
UPDATE budget b SET burn_nanos_1h = w.burn_1h, burn_nanos_24h = w.burn_24h, burn_nanos_7d = w.burn_7d,
    exhausted_p50 = nullif(w.p50, '9999-01-01 00:00:00+00'::timestamptz), exhausted_p90 = nullif(w.p90, '9999-01-01 00:00:00+00'::timestamptz), verdict = w.verdict,
    throttled_below = CASE WHEN b.throttle THEN w.throttled_below ELSE 0 END,
    spent_since = coalesce(b.spent_since, nullif(w.spent_since, '9999-01-01 00:00:00+00'::timestamptz))
FROM (SELECT unnest(@ids::uuid[]) AS id, unnest(@burn_1h::bigint[]) AS burn_1h, unnest(@burn_24h::bigint[]) AS burn_24h,
    unnest(@burn_7d::bigint[]) AS burn_7d, unnest(@p50::timestamptz[]) AS p50, unnest(@p90::timestamptz[]) AS p90,
    unnest(@verdicts::text[]) AS verdict, unnest(@throttled_below::smallint[]) AS throttled_below,
    unnest(@spent_since::timestamptz[]) AS spent_since) w
WHERE b.workspace_id = @workspace_id AND b.id = w.id;

-- name: BudgetWorkspaces :many
-- The workspaces that have budgets.
SELECT DISTINCT b.workspace_id FROM budget b WHERE b.removed_at IS NULL ORDER BY b.workspace_id;

-- name: BudgetsSpentSince :many
-- When budgets were first charged, in whichever period.
SELECT w.id::uuid AS id, l.at FROM unnest(@ids::uuid[]) AS w(id)
CROSS JOIN LATERAL (SELECT x.at FROM budget_ledger x
    WHERE x.workspace_id = @workspace_id AND x.budget_id = w.id AND x.kind = 'settle' AND x.nanos > 0 ORDER BY x.id LIMIT 1) l;
