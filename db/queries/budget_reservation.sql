-- name: BudgetsActive :one
-- Whether a workspace has budgets at all: without one nothing else is asked. And whether
-- one of them holds models without a price, and only then whether products name models.
SELECT a.active, a.holds_unpriced, (a.holds_unpriced AND EXISTS (SELECT FROM product p
    WHERE p.workspace_id = @workspace_id AND p.models <> '{}'))::boolean AS names_models
FROM (SELECT EXISTS (SELECT FROM budget b WHERE b.workspace_id = @workspace_id AND b.removed_at IS NULL) AS active,
    EXISTS (SELECT FROM budget b WHERE b.workspace_id = @workspace_id AND b.removed_at IS NULL AND b.hard
        AND b.limit_nanos IS NOT NULL AND b.unpriced <> 'allow') AS holds_unpriced
    OFFSET 0) a;

-- name: BudgetsHoldingUnpriced :many
-- The budgets that hold models without a price, the widest scopes first, those that ask
-- before the others.
SELECT b.id, b.name, b.scope_key, (b.unpriced = 'ask')::boolean AS asks, clock_timestamp()::timestamptz AS now
FROM budget b WHERE b.workspace_id = @workspace_id AND b.removed_at IS NULL AND b.hard AND b.limit_nanos IS NOT NULL
    AND b.unpriced <> 'allow'
ORDER BY b.scope <> 'workspace', b.scope <> 'product', b.unpriced <> 'ask', b.name, b.id;

-- name: BudgetsAskingForJobs :many
-- The hard budgets of dollars that ask about models without a price and that jobs count for,
-- one for each job.
SELECT DISTINCT ON (j.id) j.id AS job_id, j.key, b.name
FROM job j JOIN budget b ON b.workspace_id = j.workspace_id AND b.removed_at IS NULL AND b.hard AND b.limit_nanos IS NOT NULL
    AND b.unpriced = 'ask' AND b.scope_key = ANY(budget_scopes(j.product_id, j.phase, j.id))
WHERE j.workspace_id = @workspace_id AND j.id = ANY(@job_ids::uuid[])
ORDER BY j.id, b.name, b.id;

-- name: BudgetsOfJobs :many
-- The budgets that jobs count for, by their scopes, one row for each job and budget, in the
-- order in which all lock.
SELECT j.id AS job_id, j.key, j.priority, j.epoch, b.id AS budget_id, b.name, b.hard, b.slice_nanos, b.slice_tokens, b.alert_at,
    b.throttled_below, b.period, b.timezone, clock_timestamp()::timestamptz AS now
FROM (SELECT DISTINCT unnest(@job_ids::uuid[]) AS id) n
CROSS JOIN LATERAL (SELECT k.id, k.key, k.priority, k.epoch, k.product_id, k.phase FROM job k
    WHERE k.workspace_id = @workspace_id AND k.id = n.id OFFSET 0) j
CROSS JOIN LATERAL (SELECT x.* FROM budget x WHERE x.workspace_id = @workspace_id AND x.removed_at IS NULL
    AND x.scope_key = ANY(budget_scopes(j.product_id, j.phase, j.id)) OFFSET 0) b
ORDER BY b.id, j.id;

-- name: BudgetsOfScope :many
-- The budgets that a job of a product and a phase counts for, also one that is not there
-- yet.
SELECT b.id, b.name, b.hard, b.slice_nanos, b.slice_tokens, b.throttled_below, b.period, b.timezone, clock_timestamp()::timestamptz AS now
FROM budget b WHERE b.workspace_id = @workspace_id AND b.removed_at IS NULL AND b.scope_key = ANY(budget_scopes(
    (SELECT p.id FROM product p WHERE p.workspace_id = @workspace_id AND p.name = @product), @phase, @job_id))
ORDER BY b.id;

-- name: BudgetReserve :exec
-- Reserves slices for leases, each with its line, and counts the runs that begin, in one
-- line for each period. The periods are locked.
WITH t AS MATERIALIZED (
    SELECT (r.r ->> 'job_id')::uuid AS job_id, (r.r ->> 'epoch')::bigint AS epoch, (r.r ->> 'budget_id')::uuid AS budget_id,
        (r.r ->> 'period_start')::timestamptz AS period_start, (r.r ->> 'nanos')::bigint AS nanos, (r.r ->> 'tokens')::bigint AS tokens
    FROM (SELECT jsonb_array_elements(@slices::jsonb) AS r) r
), kept AS (
    INSERT INTO budget_reservation (workspace_id, job_id, epoch, budget_id, period_start, held_nanos, held_tokens)
    SELECT @workspace_id, t.job_id, t.epoch, t.budget_id, t.period_start, t.nanos, t.tokens FROM t
), told AS (
    INSERT INTO budget_ledger (workspace_id, budget_id, period_start, kind, from_account, to_account, nanos, tokens, runs, job_id, epoch)
    SELECT @workspace_id, t.budget_id, t.period_start, 'reserve', 'free', 'reserved', t.nanos, t.tokens, 0, t.job_id, t.epoch FROM t
    UNION ALL
    SELECT @workspace_id, t.budget_id, t.period_start, 'settle', 'free', 'settled', 0, 0, count(*), NULL, NULL FROM t
    GROUP BY t.budget_id, t.period_start
)
UPDATE budget_period p SET reserved_nanos = p.reserved_nanos + s.nanos, reserved_tokens = p.reserved_tokens + s.tokens, runs = p.runs + s.runs
FROM (SELECT t.budget_id, t.period_start, sum(t.nanos)::bigint AS nanos, sum(t.tokens)::bigint AS tokens, count(*) AS runs
    FROM t GROUP BY t.budget_id, t.period_start) s
WHERE p.workspace_id = @workspace_id AND p.budget_id = s.budget_id AND p.period_start = s.period_start;

-- name: BudgetReservations :many
-- What leases have reserved and not used yet, and whether a budget has warned their
-- holders.
SELECT r.job_id, r.epoch, r.budget_id, r.period_start, r.held_nanos, r.held_tokens,
    EXISTS (SELECT FROM job_lease l WHERE l.workspace_id = @workspace_id AND l.job_id = r.job_id AND l.epoch = r.epoch
        AND l.directive = 'warn' AND l.directive_by = 'budget')::boolean AS warned
FROM (SELECT DISTINCT unnest(@job_ids::uuid[]) AS job_id) n
CROSS JOIN LATERAL (SELECT x.* FROM budget_reservation x WHERE x.workspace_id = @workspace_id AND x.job_id = n.job_id OFFSET 0) r;

-- name: LeasesWarnedByBudget :many
-- The leases whose holders a budget has warned.
SELECT l.job_id, l.epoch, clock_timestamp()::timestamptz AS now FROM job_lease l
WHERE l.workspace_id = @workspace_id AND l.directive = 'warn' AND l.directive_by = 'budget'
ORDER BY l.job_id LIMIT @max_rows;

-- name: LeaseWarnForBudget :execrows
-- Tells a holder that a budget is nearly used up, unless something is asked of it already.
UPDATE job_lease SET directive = 'warn', directive_reason = @reason, directive_by = 'budget', directive_by_kind = 'system', directive_by_id = ''
WHERE workspace_id = @workspace_id AND job_id = @job_id AND epoch = @epoch AND directive = '';

-- name: LeasesUnwarnForBudget :exec
-- Takes the warnings of budgets back.
UPDATE job_lease SET directive = '', directive_reason = '', directive_by = '', directive_by_kind = '', directive_by_id = ''
WHERE workspace_id = @workspace_id AND job_id = ANY(@job_ids::uuid[]) AND directive = 'warn' AND directive_by = 'budget';

-- name: BudgetSettle :exec
-- Settles what was used: out of what its lease has reserved, and the rest out of what is
-- free; and reserves more for leases that have used most of theirs. The lines are in the
-- order of the settlements, of each first what was reserved, all of one moment; the places
-- are those of their entries, none where a line is of one alone. The periods are locked.
WITH t AS MATERIALIZED (
    SELECT (r.r ->> 'job_id')::uuid AS job_id, (r.r ->> 'epoch')::bigint AS epoch, (r.r ->> 'budget_id')::uuid AS budget_id,
        (r.r ->> 'period_start')::timestamptz AS period_start, (r.r ->> 'held_nanos')::bigint AS held_nanos,
        (r.r ->> 'held_tokens')::bigint AS held_tokens, (r.r ->> 'free_nanos')::bigint AS free_nanos,
        (r.r ->> 'free_tokens')::bigint AS free_tokens, (r.r ->> 'unpriced')::bigint AS unpriced,
        (r.r ->> 'more_nanos')::bigint AS more_nanos, (r.r ->> 'more_tokens')::bigint AS more_tokens, r.r ->> 'entry' AS entry,
        (r.r ->> 'held_from')::int AS held_from, (r.r ->> 'held_to')::int AS held_to, (r.r ->> 'free_from')::int AS free_from,
        (r.r ->> 'free_to')::int AS free_to, (r.r ->> 'is_new')::boolean AS is_new, r.n
    FROM jsonb_array_elements(@settlements::jsonb) WITH ORDINALITY AS r(r, n)
), used AS (
    UPDATE budget_reservation v SET held_nanos = v.held_nanos - t.held_nanos + t.more_nanos,
        held_tokens = v.held_tokens - t.held_tokens + t.more_tokens
    FROM t WHERE v.workspace_id = @workspace_id AND v.job_id = ANY(@job_ids::uuid[]) AND v.job_id = t.job_id AND v.epoch = t.epoch
        AND v.budget_id = t.budget_id AND v.period_start = t.period_start
), begun AS (
    INSERT INTO budget_reservation (workspace_id, job_id, epoch, budget_id, period_start, held_nanos, held_tokens)
    SELECT @workspace_id, t.job_id, t.epoch, t.budget_id, t.period_start, t.more_nanos - t.held_nanos, t.more_tokens - t.held_tokens
    FROM t WHERE t.is_new
), told AS (
    INSERT INTO budget_ledger (workspace_id, budget_id, period_start, kind, from_account, to_account, nanos, tokens, unpriced_tokens,
        job_id, epoch, entry, at, entries, entry_nanos, entry_tokens, entry_unpriced)
    SELECT @workspace_id, t.budget_id, t.period_start, l.kind, l.from_account, l.to_account, l.nanos, l.tokens, l.unpriced, t.job_id, t.epoch,
        l.entry, (SELECT clock_timestamp()), CASE WHEN l.upto > 0 THEN (@entries::text[])[l.since:l.upto] END,
        CASE WHEN l.upto > 0 THEN (@entry_nanos::bigint[])[l.since:l.upto] END,
        CASE WHEN l.upto > 0 THEN (@entry_tokens::bigint[])[l.since:l.upto] END,
        CASE WHEN l.upto > 0 AND l.unpriced <> 0 THEN (@entry_unpriced::bigint[])[l.since:l.upto] END
    FROM t CROSS JOIN LATERAL (VALUES
        (1, 'settle', 'reserved', 'settled', t.held_nanos, t.held_tokens, 0::bigint, t.entry, t.held_from, t.held_to),
        (2, 'settle', 'free', 'settled', t.free_nanos, t.free_tokens, t.unpriced, t.entry, t.free_from, t.free_to),
        (3, 'top_up', 'free', 'reserved', t.more_nanos, t.more_tokens, 0::bigint, '', 0, 0)
    ) AS l(place, kind, from_account, to_account, nanos, tokens, unpriced, entry, since, upto)
    WHERE l.nanos > 0 OR l.tokens > 0 OR l.unpriced <> 0
    ORDER BY t.n, l.place
)
UPDATE budget_period p SET settled_nanos = p.settled_nanos + s.held_nanos + s.free_nanos,
    settled_tokens = p.settled_tokens + s.held_tokens + s.free_tokens, unpriced_tokens = p.unpriced_tokens + s.unpriced,
    reserved_nanos = p.reserved_nanos - s.held_nanos + s.more_nanos, reserved_tokens = p.reserved_tokens - s.held_tokens + s.more_tokens
FROM (SELECT t.budget_id, t.period_start, sum(t.held_nanos)::bigint AS held_nanos, sum(t.held_tokens)::bigint AS held_tokens,
        sum(t.free_nanos)::bigint AS free_nanos, sum(t.free_tokens)::bigint AS free_tokens, sum(t.unpriced)::bigint AS unpriced,
        sum(t.more_nanos)::bigint AS more_nanos, sum(t.more_tokens)::bigint AS more_tokens
    FROM t GROUP BY t.budget_id, t.period_start) s
WHERE p.workspace_id = @workspace_id AND p.budget_id = s.budget_id AND p.period_start = s.period_start;

-- name: BudgetFree :many
-- Frees what ended leases have reserved and not used. The periods are locked first, in the
-- order in which all lock; where nothing is reserved there are none. It never fails for what
-- is wrong: where leases hold more of a period than it has reserved, the rest is a line
-- adjust, and those periods are returned.
WITH held AS MATERIALIZED (
    SELECT DISTINCT r.budget_id, r.period_start FROM (SELECT unnest(@job_ids::uuid[]) AS job_id, unnest(@epochs::bigint[]) AS epoch) n
    CROSS JOIN LATERAL (SELECT x.budget_id, x.period_start FROM budget_reservation x
        WHERE x.workspace_id = @workspace_id AND x.job_id = n.job_id AND x.epoch = n.epoch OFFSET 0) r
), locked AS MATERIALIZED (
    SELECT p.budget_id, p.period_start, p.reserved_nanos, p.reserved_tokens FROM budget_period p
    WHERE p.workspace_id = @workspace_id AND (p.budget_id, p.period_start) IN (SELECT h.budget_id, h.period_start FROM held h)
    ORDER BY p.budget_id, p.period_start FOR NO KEY UPDATE
), gone AS (
    DELETE FROM budget_reservation r USING (SELECT unnest(@job_ids::uuid[]) AS job_id, unnest(@epochs::bigint[]) AS epoch) n
    WHERE (SELECT count(*) FROM held) > 0 AND (SELECT count(*) FROM locked) >= 0
        AND r.workspace_id = @workspace_id AND r.job_id = ANY(@job_ids::uuid[]) AND r.job_id = n.job_id AND r.epoch = n.epoch
    RETURNING r.job_id, r.epoch, r.budget_id, r.period_start, r.held_nanos, r.held_tokens
), s AS MATERIALIZED (
    SELECT k.budget_id, k.period_start, g.nanos, g.tokens, greatest(g.nanos - k.reserved_nanos, 0) AS over_nanos,
        greatest(g.tokens - k.reserved_tokens, 0) AS over_tokens
    FROM (SELECT x.budget_id, x.period_start, least(sum(x.held_nanos), 9223372036854775807)::bigint AS nanos,
            least(sum(x.held_tokens), 9223372036854775807)::bigint AS tokens
        FROM gone x GROUP BY x.budget_id, x.period_start) g
    JOIN locked k ON k.budget_id = g.budget_id AND k.period_start = g.period_start
), told AS (
    INSERT INTO budget_ledger (workspace_id, budget_id, period_start, kind, from_account, to_account, nanos, tokens, job_id, epoch, reason)
    SELECT @workspace_id, g.budget_id, g.period_start, 'free', 'reserved', 'free', g.held_nanos, g.held_tokens, g.job_id, g.epoch, ''
    FROM gone g WHERE g.held_nanos > 0 OR g.held_tokens > 0
    UNION ALL
    SELECT @workspace_id, s.budget_id, s.period_start, 'adjust', 'free', 'reserved', s.over_nanos, s.over_tokens, NULL, NULL,
        'Leases held more than the period had reserved.'
    FROM s WHERE s.over_nanos > 0 OR s.over_tokens > 0
), freed AS (
    UPDATE budget_period p SET reserved_nanos = greatest(p.reserved_nanos - s.nanos, 0), reserved_tokens = greatest(p.reserved_tokens - s.tokens, 0)
    FROM s WHERE p.workspace_id = @workspace_id AND p.budget_id = s.budget_id AND p.period_start = s.period_start
)
SELECT s.budget_id, b.name, s.period_start, s.over_nanos::bigint AS over_nanos, s.over_tokens::bigint AS over_tokens
FROM s JOIN budget b ON b.workspace_id = @workspace_id AND b.id = s.budget_id
WHERE s.over_nanos > 0 OR s.over_tokens > 0 ORDER BY s.budget_id, s.period_start;

-- name: BudgetLeasesHold :many
-- Those of the leases that last and that nobody is ending: they last until the transaction
-- ends. It waits for nobody.
SELECT l.job_id, l.epoch FROM job_lease l
WHERE l.workspace_id = @workspace_id AND l.job_id = ANY(@job_ids::uuid[]) AND l.epoch = ANY(@epochs::bigint[])
ORDER BY l.job_id FOR KEY SHARE SKIP LOCKED;

-- name: JobsHeldByBudget :many
-- Of the most urgent jobs that wait for a budget those of which no hard budget is short
-- now and no budget keeps its money for more urgent ones, the most urgent first: a budget with nothing left does not keep those of others.
SELECT h.id FROM (
    SELECT j.id, j.priority, j.status_at, j.product_id, j.phase FROM job j
    WHERE j.workspace_id = @workspace_id AND j.status = 'waiting' AND j.wait_reason = 'budget'
    ORDER BY j.priority DESC, j.status_at, j.id LIMIT 5000
) h
WHERE NOT EXISTS (
    SELECT FROM budget b JOIN budget_period p ON p.workspace_id = b.workspace_id AND p.budget_id = b.id
        AND p.period_start <= now() AND p.period_end > now()
    WHERE b.workspace_id = @workspace_id AND b.removed_at IS NULL
        AND b.scope_key = ANY(budget_scopes(h.product_id, h.phase, h.id))
        AND (h.priority < b.throttled_below OR b.hard AND (p.limit_nanos - p.settled_nanos - p.reserved_nanos < b.slice_nanos
            OR p.limit_tokens - p.settled_tokens - p.reserved_tokens < b.slice_tokens OR p.limit_runs - p.runs < 1)))
ORDER BY h.priority DESC, h.status_at, h.id LIMIT @max_rows;

-- name: JobsPausedByBudget :many
-- The jobs that a budget paused, and no person.
SELECT j.id FROM job j WHERE j.workspace_id = @workspace_id AND j.status = 'paused' AND j.status_by_kind = 'system' AND j.status_by = 'budget'
ORDER BY j.id LIMIT @max_rows;
