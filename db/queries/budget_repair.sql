-- name: AuditBudgetAdjusted :many
-- Periods of budgets of which leases held more than was reserved, and that nobody has put
-- right since.
SELECT l.budget_id, b.name, l.period_start, count(*) AS lines, sum(l.nanos)::bigint AS nanos, sum(l.tokens)::bigint AS tokens
FROM budget_ledger l JOIN budget b ON b.workspace_id = l.workspace_id AND b.id = l.budget_id
WHERE l.workspace_id = @workspace_id AND l.kind = 'adjust' AND l.actor = '' AND NOT EXISTS (
    SELECT FROM budget_ledger r WHERE r.workspace_id = l.workspace_id AND r.budget_id = l.budget_id AND r.period_start = l.period_start
        AND r.kind = 'adjust' AND r.actor <> '' AND r.id > l.id)
GROUP BY l.budget_id, b.name, l.period_start ORDER BY b.name, l.period_start;

-- name: BudgetRepairLock :many
-- Locks a budget, also a removed one, and those of its periods, in the order in which all
-- lock. granted: its ledger has the line that the period began with.
WITH locked AS MATERIALIZED (
    SELECT b.id FROM budget b WHERE b.workspace_id = @workspace_id AND b.id = @budget_id FOR NO KEY UPDATE
)
SELECT p.period_start, EXISTS (SELECT FROM budget_ledger l WHERE l.workspace_id = p.workspace_id AND l.budget_id = p.budget_id
    AND l.period_start = p.period_start AND l.kind = 'grant')::boolean AS granted
FROM budget_period p
WHERE p.workspace_id = @workspace_id AND p.budget_id = (SELECT k.id FROM locked k) AND p.period_start = ANY(@starts::timestamptz[])
ORDER BY p.period_start FOR NO KEY UPDATE OF p;

-- name: BudgetRepairLeases :many
-- What leases have reserved of periods of a budget by its ledger, and what they hold of
-- them: those of which either is something. The job of no lease is zero.
SELECT coalesce(l.period_start, r.period_start)::timestamptz AS period_start, coalesce(l.job_id, r.job_id, '00000000-0000-0000-0000-000000000000')::uuid AS job_id,
    coalesce(l.epoch, r.epoch, 0)::bigint AS epoch, coalesce(l.nanos, 0)::bigint AS nanos, coalesce(l.tokens, 0)::bigint AS tokens,
    (r.job_id IS NOT NULL)::boolean AS holds, coalesce(r.held_nanos, 0)::bigint AS held_nanos, coalesce(r.held_tokens, 0)::bigint AS held_tokens
FROM (
    SELECT x.period_start, x.job_id, x.epoch,
        sum(CASE 'reserved' WHEN x.to_account THEN x.nanos WHEN x.from_account THEN -x.nanos ELSE 0 END) AS nanos,
        sum(CASE 'reserved' WHEN x.to_account THEN x.tokens WHEN x.from_account THEN -x.tokens ELSE 0 END) AS tokens
    FROM budget_ledger x WHERE x.workspace_id = @workspace_id AND x.budget_id = @budget_id AND x.period_start = ANY(@starts::timestamptz[])
    GROUP BY x.period_start, x.job_id, x.epoch
) l
FULL JOIN (
    SELECT v.period_start, v.job_id, v.epoch, v.held_nanos, v.held_tokens FROM budget_reservation v
    WHERE v.workspace_id = @workspace_id AND v.budget_id = @budget_id AND v.period_start = ANY(@starts::timestamptz[])
) r ON r.period_start = l.period_start AND r.job_id = l.job_id AND r.epoch = l.epoch
WHERE r.job_id IS NOT NULL OR l.nanos <> 0 OR l.tokens <> 0
ORDER BY 1, 2, 3;

-- name: BudgetRepairReservations :exec
-- Makes what leases hold of a budget what is given; where that is nothing it goes.
WITH t AS MATERIALIZED (
    SELECT (r.r ->> 'period_start')::timestamptz AS period_start, (r.r ->> 'job_id')::uuid AS job_id, (r.r ->> 'epoch')::bigint AS epoch,
        (r.r ->> 'nanos')::bigint AS nanos, (r.r ->> 'tokens')::bigint AS tokens, (r.r ->> 'lasts')::boolean AS lasts
    FROM (SELECT jsonb_array_elements(@rows::jsonb) AS r) r
), gone AS (
    DELETE FROM budget_reservation v USING t
    WHERE v.workspace_id = @workspace_id AND v.budget_id = @budget_id AND v.period_start = t.period_start AND v.job_id = t.job_id
        AND v.epoch = t.epoch AND NOT t.lasts
)
INSERT INTO budget_reservation AS v (workspace_id, job_id, epoch, budget_id, period_start, held_nanos, held_tokens)
SELECT @workspace_id, t.job_id, t.epoch, @budget_id, t.period_start, t.nanos, t.tokens FROM t WHERE t.lasts
ON CONFLICT (workspace_id, job_id, epoch, budget_id, period_start) DO UPDATE
    SET held_nanos = excluded.held_nanos, held_tokens = excluded.held_tokens;

-- name: BudgetRepairLines :exec
-- Writes lines adjust: those that give take from what is free, the others give back to it.
INSERT INTO budget_ledger (workspace_id, budget_id, period_start, kind, from_account, to_account, nanos, tokens, job_id, epoch, reason, actor)
SELECT @workspace_id, @budget_id, t.period_start, 'adjust', CASE WHEN t.takes THEN 'free' ELSE 'reserved' END,
    CASE WHEN t.takes THEN 'reserved' ELSE 'free' END, t.nanos, t.tokens, t.job_id, t.epoch, @reason, @actor
FROM jsonb_to_recordset(@lines::jsonb) AS t(period_start timestamptz, takes boolean, nanos bigint, tokens bigint, job_id uuid, epoch bigint);

-- name: BudgetRepairPeriods :many
-- Makes the sums of a budget's locked periods those of their ledgers, where there is one,
-- and returns those that were others, as they were and as they are.
WITH sums AS MATERIALIZED (
    SELECT l.period_start,
        sum(CASE 'outside' WHEN l.from_account THEN l.nanos WHEN l.to_account THEN -l.nanos ELSE 0 END)::bigint AS limit_nanos,
        sum(CASE 'outside' WHEN l.from_account THEN l.tokens WHEN l.to_account THEN -l.tokens ELSE 0 END)::bigint AS limit_tokens,
        sum(CASE 'outside' WHEN l.from_account THEN l.runs WHEN l.to_account THEN -l.runs ELSE 0 END)::bigint AS limit_runs,
        sum(CASE 'settled' WHEN l.to_account THEN l.nanos WHEN l.from_account THEN -l.nanos ELSE 0 END)::bigint AS settled_nanos,
        sum(CASE 'settled' WHEN l.to_account THEN l.tokens WHEN l.from_account THEN -l.tokens ELSE 0 END)::bigint AS settled_tokens,
        sum(CASE 'settled' WHEN l.to_account THEN l.runs WHEN l.from_account THEN -l.runs ELSE 0 END)::bigint AS runs,
        sum(CASE 'reserved' WHEN l.to_account THEN l.nanos WHEN l.from_account THEN -l.nanos ELSE 0 END)::bigint AS reserved_nanos,
        sum(CASE 'reserved' WHEN l.to_account THEN l.tokens WHEN l.from_account THEN -l.tokens ELSE 0 END)::bigint AS reserved_tokens
    FROM budget_ledger l
    WHERE l.workspace_id = @workspace_id AND l.budget_id = @budget_id AND l.period_start = ANY(@starts::timestamptz[])
    GROUP BY l.period_start HAVING bool_or(l.kind = 'grant')
), was AS MATERIALIZED (
    SELECT p.period_start, p.limit_nanos, p.limit_tokens, p.limit_runs, p.settled_nanos, p.settled_tokens, p.runs, p.reserved_nanos, p.reserved_tokens
    FROM budget_period p WHERE p.workspace_id = @workspace_id AND p.budget_id = @budget_id
), put AS (
    UPDATE budget_period p SET settled_nanos = s.settled_nanos, settled_tokens = s.settled_tokens, runs = s.runs,
        reserved_nanos = s.reserved_nanos, reserved_tokens = s.reserved_tokens,
        -- No limit is 0 in the ledger.
        limit_nanos = CASE WHEN p.limit_nanos IS NULL AND s.limit_nanos = 0 THEN NULL ELSE s.limit_nanos END,
        limit_tokens = CASE WHEN p.limit_tokens IS NULL AND s.limit_tokens = 0 THEN NULL ELSE s.limit_tokens END,
        limit_runs = CASE WHEN p.limit_runs IS NULL AND s.limit_runs = 0 THEN NULL ELSE s.limit_runs END
    FROM sums s
    WHERE p.workspace_id = @workspace_id AND p.budget_id = @budget_id AND p.period_start = s.period_start
        AND (coalesce(p.limit_nanos, 0), coalesce(p.limit_tokens, 0), coalesce(p.limit_runs, 0), p.settled_nanos, p.settled_tokens, p.runs,
            p.reserved_nanos, p.reserved_tokens)
        <> (s.limit_nanos, s.limit_tokens, s.limit_runs, s.settled_nanos, s.settled_tokens, s.runs, s.reserved_nanos, s.reserved_tokens)
    RETURNING p.period_start
)
SELECT s.period_start, coalesce(w.limit_nanos, 0)::bigint AS was_limit_nanos, coalesce(w.limit_tokens, 0)::bigint AS was_limit_tokens,
    coalesce(w.limit_runs, 0)::bigint AS was_limit_runs, w.settled_nanos AS was_settled_nanos, w.settled_tokens AS was_settled_tokens,
    w.runs AS was_runs, w.reserved_nanos AS was_reserved_nanos, w.reserved_tokens AS was_reserved_tokens,
    s.limit_nanos, s.limit_tokens, s.limit_runs, s.settled_nanos, s.settled_tokens, s.runs, s.reserved_nanos, s.reserved_tokens
FROM put JOIN sums s ON s.period_start = put.period_start JOIN was w ON w.period_start = put.period_start
ORDER BY s.period_start;
