-- name: BudgetLinesAdd :many
-- Writes lines that change what a period may spend, and returns their ids in this order.
INSERT INTO budget_ledger (workspace_id, budget_id, period_start, kind, from_account, to_account, nanos, tokens, runs, other_budget_id,
    reverses, until, reason, actor)
SELECT @workspace_id, w.budget_id, w.period_start, w.kind, CASE WHEN w.takes THEN 'free' ELSE 'outside' END,
    CASE WHEN w.takes THEN 'outside' ELSE 'free' END, w.nanos, w.tokens, w.runs,
    nullif(w.other_budget_id, '00000000-0000-0000-0000-000000000000'), nullif(w.reverses, 0), nullif(w.until, '9999-01-01 00:00:00+00'::timestamptz), @reason, @actor
FROM (SELECT unnest(@budget_ids::uuid[]) AS budget_id, unnest(@starts::timestamptz[]) AS period_start, unnest(@kinds::text[]) AS kind,
    unnest(@takes::boolean[]) AS takes, unnest(@nanos::bigint[]) AS nanos, unnest(@tokens::bigint[]) AS tokens,
    unnest(@runs::bigint[]) AS runs, unnest(@other_budget_ids::uuid[]) AS other_budget_id, unnest(@reverses::bigint[]) AS reverses,
    unnest(@untils::timestamptz[]) AS until) w
RETURNING id;

-- name: BudgetLedger :many
-- The lines of a budget, the newest first.
SELECT l.id, l.period_start, l.kind, l.from_account, l.to_account, l.nanos, l.tokens, l.runs, l.unpriced_tokens, l.job_id, l.epoch,
    l.entry, l.other_budget_id, l.reverses, l.until, l.reason, l.actor, l.at, coalesce(j.key, '')::text AS job_key,
    coalesce(o.name, '')::text AS other
FROM budget_ledger l
LEFT JOIN job j ON j.workspace_id = l.workspace_id AND j.id = l.job_id
LEFT JOIN budget o ON o.workspace_id = l.workspace_id AND o.id = l.other_budget_id
WHERE l.workspace_id = @workspace_id AND l.budget_id = @budget_id AND l.id < @before
    AND (cardinality(@kinds::text[]) = 0 OR l.kind = ANY(@kinds::text[]))
ORDER BY l.id DESC LIMIT @max_rows;

-- name: BudgetPeriodLines :many
-- The lines of a period from one on, the newest first, with the entries of those that are of
-- several, and who had their leases.
SELECT l.id, l.kind, l.from_account, l.to_account, l.nanos, l.tokens, l.runs, l.unpriced_tokens, l.job_id, l.epoch, l.entry,
    coalesce(l.entries, '{}')::text[] AS entries, coalesce(l.entry_nanos, '{}')::bigint[] AS entry_nanos,
    coalesce(l.entry_tokens, '{}')::bigint[] AS entry_tokens, coalesce(l.entry_unpriced, '{}')::bigint[] AS entry_unpriced,
    l.other_budget_id, l.reverses, l.until, l.reason, l.actor, l.at, coalesce(j.key, '')::text AS job_key,
    coalesce(a.agent, '')::text AS agent, coalesce(o.name, '')::text AS other
FROM (SELECT x.* FROM budget_ledger x
    WHERE x.workspace_id = @workspace_id AND x.budget_id = @budget_id AND x.period_start = @period_start AND x.id <= @upto
        AND (cardinality(@kinds::text[]) = 0 OR x.kind = ANY(@kinds::text[]))
    ORDER BY x.id DESC LIMIT @max_rows) l
LEFT JOIN LATERAL (SELECT k.key FROM job k WHERE k.workspace_id = @workspace_id AND k.id = l.job_id OFFSET 0) j ON true
LEFT JOIN LATERAL (SELECT t.agent FROM attempt t WHERE t.workspace_id = @workspace_id AND t.job_id = l.job_id AND t.epoch = l.epoch
    OFFSET 0) a ON true
LEFT JOIN budget o ON o.workspace_id = @workspace_id AND o.id = l.other_budget_id
ORDER BY l.id DESC;

-- name: UsageModels :many
-- The models that entries were of, as far as they are there.
SELECT e.job_id, e.id, e.provider, e.model
FROM (SELECT unnest(@job_ids::uuid[]) AS job_id, unnest(@ids::text[]) AS id) n
CROSS JOIN LATERAL (SELECT x.job_id, x.id, x.provider, x.model FROM usage_entry x
    WHERE x.workspace_id = @workspace_id AND x.job_id = n.job_id AND x.id = n.id OFFSET 0) e;

-- name: BudgetLine :one
-- One line of a budget, and whether it was taken back by another.
SELECT l.period_start, l.kind, l.nanos, l.other_budget_id, l.at,
    EXISTS (SELECT FROM budget_ledger r WHERE r.workspace_id = l.workspace_id AND r.reverses = l.id) AS reversed
FROM budget_ledger l WHERE l.workspace_id = @workspace_id AND l.budget_id = @budget_id AND l.id = @id;

-- name: BudgetRaiseAdd :exec
INSERT INTO budget_raise (workspace_id, line, budget_id, period_start, nanos, until)
VALUES (@workspace_id, @line, @budget_id, @period_start, @nanos, sqlc.narg('until'));

-- name: BudgetRaisesDue :many
-- The raises of a workspace that have ended while their period and their budget have not.
SELECT r.line, r.budget_id, r.period_start, r.nanos FROM budget_raise r
JOIN budget b ON b.workspace_id = r.workspace_id AND b.id = r.budget_id AND b.removed_at IS NULL
JOIN budget_period p ON p.workspace_id = r.workspace_id AND p.budget_id = r.budget_id AND p.period_start = r.period_start
WHERE r.workspace_id = @workspace_id AND r.until <= now() AND p.period_end > now()
ORDER BY r.budget_id, r.until, r.line LIMIT 1000;

-- name: BudgetRaiseLeft :one
-- What is left of a raise whose period is locked; 0 where it is gone.
SELECT coalesce((SELECT r.nanos FROM budget_raise r WHERE r.workspace_id = @workspace_id AND r.line = @line), 0)::bigint;

-- name: BudgetRaiseTake :exec
-- Takes so much of a raise; of one that is gone whole its row too.
WITH gone AS (
    DELETE FROM budget_raise r WHERE r.workspace_id = @workspace_id AND r.line = @line AND r.nanos <= @nanos
)
UPDATE budget_raise r SET nanos = r.nanos - @nanos WHERE r.workspace_id = @workspace_id AND r.line = @line AND r.nanos > @nanos;
