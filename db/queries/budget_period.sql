-- name: BudgetPeriods :many
-- Periods by their start.
SELECT p.budget_id, p.period_start, p.period_end, p.limit_nanos, p.limit_tokens, p.limit_runs, p.settled_nanos, p.reserved_nanos,
    p.settled_tokens, p.reserved_tokens, p.runs, p.unpriced_tokens
FROM (SELECT unnest(@budget_ids::uuid[]) AS budget_id, unnest(@starts::timestamptz[]) AS period_start) w
JOIN budget_period p ON p.workspace_id = @workspace_id AND p.budget_id = w.budget_id AND p.period_start = w.period_start;

-- name: BudgetPeriodsPast :many
-- The periods of a budget before one, the last first.
SELECT p.period_start, p.period_end, p.limit_nanos, p.limit_tokens, p.limit_runs, p.settled_nanos, p.reserved_nanos,
    p.settled_tokens, p.reserved_tokens, p.runs, p.unpriced_tokens
FROM budget_period p WHERE p.workspace_id = @workspace_id AND p.budget_id = @budget_id AND p.period_start < @before
ORDER BY p.period_start DESC LIMIT @max_rows;

-- name: BudgetPeriodsLock :many
-- BudgetPeriods of what nobody else changes until the transaction ends, in the order
-- in which all lock them.
SELECT p.budget_id, p.period_start, p.period_end, p.limit_nanos, p.limit_tokens, p.limit_runs, p.settled_nanos, p.reserved_nanos,
    p.settled_tokens, p.reserved_tokens, p.runs, p.unpriced_tokens
FROM (SELECT unnest(@budget_ids::uuid[]) AS budget_id, unnest(@starts::timestamptz[]) AS period_start) w
JOIN budget_period p ON p.workspace_id = @workspace_id AND p.budget_id = w.budget_id AND p.period_start = w.period_start
ORDER BY p.budget_id, p.period_start FOR NO KEY UPDATE OF p;

-- name: BudgetAlerts :many
SELECT a.budget_id, a.threshold, a.fired_at
FROM (SELECT unnest(@budget_ids::uuid[]) AS budget_id, unnest(@starts::timestamptz[]) AS period_start) w
JOIN budget_alert a ON a.workspace_id = @workspace_id AND a.budget_id = w.budget_id AND a.period_start = w.period_start
ORDER BY a.budget_id, a.threshold;

-- name: BudgetAlertFire :many
-- Notes that a threshold was reached, and returns the budgets of which it was not known.
INSERT INTO budget_alert (workspace_id, budget_id, period_start, threshold)
SELECT @workspace_id, w.budget_id, w.period_start, @threshold
FROM (SELECT unnest(@budget_ids::uuid[]) AS budget_id, unnest(@starts::timestamptz[]) AS period_start) w
ORDER BY w.budget_id ON CONFLICT DO NOTHING
RETURNING budget_id;

-- name: BudgetPeriodsOpen :many
-- Opens periods that are not open yet, each with its grant, and returns their budgets.
WITH opened AS (
    INSERT INTO budget_period (workspace_id, budget_id, period_start, period_end, limit_nanos, limit_tokens, limit_runs)
    SELECT @workspace_id, b.id, w.period_start, w.period_end, b.limit_nanos, b.limit_tokens, b.limit_runs
    FROM (SELECT unnest(@budget_ids::uuid[]) AS budget_id, unnest(@starts::timestamptz[]) AS period_start,
        unnest(@ends::timestamptz[]) AS period_end) w
    JOIN budget b ON b.workspace_id = @workspace_id AND b.id = w.budget_id AND b.removed_at IS NULL
    ORDER BY b.id
    ON CONFLICT DO NOTHING
    RETURNING budget_id, period_start, limit_nanos, limit_tokens, limit_runs
)
INSERT INTO budget_ledger (workspace_id, budget_id, period_start, kind, from_account, to_account, nanos, tokens, runs, actor)
SELECT @workspace_id, o.budget_id, o.period_start, 'grant', 'outside', 'free', coalesce(o.limit_nanos, 0), coalesce(o.limit_tokens, 0),
    coalesce(o.limit_runs, 0), 'budgets'
FROM opened o ORDER BY o.budget_id
RETURNING budget_id;

-- name: BudgetLimitsSave :exec
-- Gives locked periods other limits, below 0 for none. The lines of it go with it. Thresholds
-- that are not reached any more tell anew, and so does, where there is more money, that it
-- runs out.
WITH w AS MATERIALIZED (
    SELECT w.budget_id, w.period_start, w.nanos, w.tokens, w.runs, p.settled_nanos, p.settled_tokens, p.runs AS settled_runs,
        w.nanos > p.limit_nanos OR w.nanos < 0 AS has_more
    FROM (SELECT unnest(@budget_ids::uuid[]) AS budget_id, unnest(@starts::timestamptz[]) AS period_start, unnest(@nanos::bigint[]) AS nanos,
        unnest(@tokens::bigint[]) AS tokens, unnest(@runs::bigint[]) AS runs) w
    JOIN budget_period p ON p.workspace_id = @workspace_id AND p.budget_id = w.budget_id AND p.period_start = w.period_start
), forgotten AS (
    DELETE FROM budget_alert a USING w
    WHERE a.workspace_id = @workspace_id AND a.budget_id = w.budget_id AND a.period_start = w.period_start
        AND CASE WHEN a.threshold > 100 THEN w.has_more ELSE NOT (
            w.nanos >= 0 AND w.settled_nanos::numeric * 100 >= w.nanos::numeric * a.threshold
            OR w.tokens >= 0 AND w.settled_tokens::numeric * 100 >= w.tokens::numeric * a.threshold
            OR w.runs >= 0 AND w.settled_runs::numeric * 100 >= w.runs::numeric * a.threshold) END
)
UPDATE budget_period p SET limit_nanos = CASE WHEN w.nanos >= 0 THEN w.nanos END,
    limit_tokens = CASE WHEN w.tokens >= 0 THEN w.tokens END, limit_runs = CASE WHEN w.runs >= 0 THEN w.runs END, stopped_at = NULL
FROM w WHERE p.workspace_id = @workspace_id AND p.budget_id = w.budget_id AND p.period_start = w.period_start;

-- name: BudgetReservationsFree :many
-- Frees all that leases have reserved of a budget, as BudgetFree does of leases that end.
WITH held AS MATERIALIZED (
    SELECT DISTINCT r.period_start FROM budget_reservation r WHERE r.workspace_id = @workspace_id AND r.budget_id = @budget_id
), locked AS MATERIALIZED (
    SELECT p.period_start, p.reserved_nanos, p.reserved_tokens FROM budget_period p
    WHERE p.workspace_id = @workspace_id AND p.budget_id = @budget_id AND p.period_start IN (SELECT h.period_start FROM held h)
    ORDER BY p.period_start FOR NO KEY UPDATE
), gone AS (
    DELETE FROM budget_reservation r
    WHERE (SELECT count(*) FROM locked) >= 0 AND r.workspace_id = @workspace_id AND r.budget_id = @budget_id
    RETURNING r.job_id, r.epoch, r.period_start, r.held_nanos, r.held_tokens
), s AS MATERIALIZED (
    SELECT k.period_start, g.nanos, g.tokens, greatest(g.nanos - k.reserved_nanos, 0) AS over_nanos,
        greatest(g.tokens - k.reserved_tokens, 0) AS over_tokens
    FROM (SELECT x.period_start, least(sum(x.held_nanos), 9223372036854775807)::bigint AS nanos,
            least(sum(x.held_tokens), 9223372036854775807)::bigint AS tokens
        FROM gone x GROUP BY x.period_start) g
    JOIN locked k ON k.period_start = g.period_start
), told AS (
    INSERT INTO budget_ledger (workspace_id, budget_id, period_start, kind, from_account, to_account, nanos, tokens, job_id, epoch, reason, actor)
    SELECT @workspace_id, @budget_id, g.period_start, 'free', 'reserved', 'free', g.held_nanos, g.held_tokens, g.job_id, g.epoch, '', @actor::text AS actor
    FROM gone g WHERE g.held_nanos > 0 OR g.held_tokens > 0
    UNION ALL
    SELECT @workspace_id, @budget_id, s.period_start, 'adjust', 'free', 'reserved', s.over_nanos, s.over_tokens, NULL, NULL,
        'Leases held more than the period had reserved.', ''
    FROM s WHERE s.over_nanos > 0 OR s.over_tokens > 0
), freed AS (
    UPDATE budget_period p SET reserved_nanos = greatest(p.reserved_nanos - s.nanos, 0), reserved_tokens = greatest(p.reserved_tokens - s.tokens, 0)
    FROM s WHERE p.workspace_id = @workspace_id AND p.budget_id = @budget_id AND p.period_start = s.period_start
)
SELECT s.period_start, s.over_nanos::bigint AS over_nanos, s.over_tokens::bigint AS over_tokens
FROM s WHERE s.over_nanos > 0 OR s.over_tokens > 0 ORDER BY s.period_start;

-- name: BudgetSnapshot :exec
-- Keeps how the periods of now stand in this hour, and those since then that have ended at
-- their end. What stands as it is kept is not written again.
INSERT INTO budget_hour (workspace_id, budget_id, period_start, hour, limit_nanos, settled_nanos, reserved_nanos, settled_tokens,
    reserved_tokens, runs)
SELECT p.workspace_id, p.budget_id, p.period_start,
    date_trunc('hour', least(CAST(@read_at AS timestamptz), p.period_end - interval '1 microsecond'), 'UTC'), p.limit_nanos, p.settled_nanos,
    p.reserved_nanos, p.settled_tokens, p.reserved_tokens, p.runs
FROM budget b JOIN budget_period p ON p.workspace_id = b.workspace_id AND p.budget_id = b.id
WHERE b.workspace_id = @workspace_id AND b.removed_at IS NULL
    AND p.period_start <= @read_at AND p.period_end > @since
ORDER BY p.budget_id, p.period_start
ON CONFLICT (workspace_id, budget_id, period_start, hour) DO UPDATE SET limit_nanos = excluded.limit_nanos,
    settled_nanos = excluded.settled_nanos, reserved_nanos = excluded.reserved_nanos, settled_tokens = excluded.settled_tokens,
    reserved_tokens = excluded.reserved_tokens, runs = excluded.runs
WHERE (budget_hour.limit_nanos, budget_hour.settled_nanos, budget_hour.reserved_nanos, budget_hour.settled_tokens,
    budget_hour.reserved_tokens, budget_hour.runs) IS DISTINCT FROM (excluded.limit_nanos, excluded.settled_nanos,
    excluded.reserved_nanos, excluded.settled_tokens, excluded.reserved_tokens, excluded.runs);

-- name: BudgetHours :many
-- How periods stood, hour by hour, from an hour on: of these budgets, in the order of
-- time. A period that ended within its last hour stood so at its end.
SELECT h.budget_id, h.period_start, h.hour, least(h.hour + interval '1 hour', p.period_end)::timestamptz AS at, h.limit_nanos,
    h.settled_nanos, h.reserved_nanos, h.settled_tokens, h.reserved_tokens, h.runs
FROM budget_hour h
JOIN budget_period p ON p.workspace_id = h.workspace_id AND p.budget_id = h.budget_id AND p.period_start = h.period_start
WHERE h.workspace_id = @workspace_id AND h.budget_id = ANY(@budget_ids::uuid[]) AND h.hour >= @since
ORDER BY h.budget_id, h.period_start, h.hour;

-- name: BudgetNotices :many
-- How the present periods of budgets stand, those that have reached a threshold or whose
-- money does not last. used_up: a hard one that has no room for another slice, of which
-- nobody has decided that it stays so.
SELECT n.id, n.name, n.hard, n.limit_nanos, n.settled_nanos, n.limit_tokens, n.settled_tokens, n.limit_runs, n.runs, n.period_end,
    n.exhausted_p50, n.runs_out, n.used_up, n.thresholds
FROM (
    SELECT b.id, b.name, b.hard, p.limit_nanos, p.settled_nanos, p.limit_tokens, p.settled_tokens, p.limit_runs, p.runs, p.period_end,
        b.exhausted_p50, (b.verdict IN ('runs_out', 'throttle'))::boolean AS runs_out,
        (b.hard AND p.stopped_at IS NULL AND coalesce(p.limit_nanos - p.settled_nanos < b.slice_nanos
            OR p.limit_tokens - p.settled_tokens < b.slice_tokens OR p.limit_runs - p.runs < 1, false))::boolean AS used_up,
        ARRAY(SELECT a.threshold FROM budget_alert a WHERE a.workspace_id = b.workspace_id AND a.budget_id = b.id
            AND a.period_start = p.period_start ORDER BY a.threshold)::smallint[] AS thresholds
    FROM budget b
    CROSS JOIN LATERAL (SELECT x.* FROM budget_period x WHERE x.workspace_id = b.workspace_id AND x.budget_id = b.id
        AND x.period_start <= now() AND x.period_end > now() OFFSET 0) p
    WHERE b.workspace_id = @workspace_id AND b.removed_at IS NULL
) n
WHERE n.used_up OR n.runs_out OR cardinality(n.thresholds) > 0
ORDER BY n.name, n.id LIMIT 500;

-- name: BudgetStop :execrows
-- Notes of a present period that is used up that a person has decided to leave it so.
UPDATE budget_period p SET stopped_at = now()
WHERE p.workspace_id = @workspace_id AND p.budget_id = @budget_id AND p.period_start <= now() AND p.period_end > now()
    AND p.stopped_at IS NULL;
