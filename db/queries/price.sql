-- name: PriceList :many
-- A workspace's own prices: few hundred rows at most.
SELECT id, provider, model, valid_from, input, cache_read, cache_write, cache_write_1h, output, batch_permille, flat_rate, source, created_by, created_at
FROM price WHERE workspace_id = @workspace_id ORDER BY id;

-- name: PriceInsert :many
-- Adds prices that are not there yet, and gives their ids.
INSERT INTO price (workspace_id, provider, model, valid_from, input, cache_read, cache_write, cache_write_1h, output, batch_permille, flat_rate,
    source, created_by)
SELECT @workspace_id, t.provider, t.model, t.valid_from, t.input, t.cache_read, t.cache_write, t.cache_write_1h, t.output, t.batch_permille, t.flat_rate,
    t.source, @created_by
FROM (SELECT unnest(@providers::text[]) AS provider, unnest(@models::text[]) AS model, unnest(@valid_froms::timestamptz[]) AS valid_from,
    unnest(@inputs::bigint[]) AS input, unnest(@cache_reads::bigint[]) AS cache_read, unnest(@cache_writes::bigint[]) AS cache_write,
    unnest(@cache_writes_1h::bigint[]) AS cache_write_1h, unnest(@outputs::bigint[]) AS output, unnest(@batch_permilles::smallint[]) AS batch_permille,
    unnest(@flat_rates::boolean[]) AS flat_rate, unnest(@sources::text[]) AS source) t
ORDER BY t.provider COLLATE "C", t.model COLLATE "C", t.valid_from
ON CONFLICT (workspace_id, provider, model, valid_from) DO NOTHING
RETURNING id, provider, model, valid_from;

-- name: UsagePricingAsk :exec
-- Has what was booked since an instant priced, from the beginning.
INSERT INTO usage_pricing AS u (workspace_id, since, after_at, after_id, saved_at)
VALUES (@workspace_id, @since, @since, '', clock_timestamp())
ON CONFLICT (workspace_id) DO UPDATE SET since = least(u.since, excluded.since), after_at = least(u.since, excluded.since), after_id = '',
    after_job = '00000000-0000-0000-0000-000000000000',
    was_locked = false, saved_at = excluded.saved_at;

-- name: UsagePricingWorkspaces :many
-- The workspaces that have usage to price.
SELECT p.workspace_id FROM usage_pricing p ORDER BY p.workspace_id;

-- name: UsagePricingLock :one
-- Where the pricing of a workspace stands, unless somebody else is at it.
SELECT p.since, p.after_at, p.after_id, p.after_job, p.was_locked, p.saved_at, clock_timestamp()::timestamptz AS now
FROM usage_pricing p WHERE p.workspace_id = @workspace_id FOR UPDATE SKIP LOCKED;

-- name: UsagePricingMove :exec
UPDATE usage_pricing SET after_at = @after_at, after_id = @after_id, after_job = @after_job, was_locked = @was_locked WHERE workspace_id = @workspace_id;

-- name: UsagePricingEnd :exec
DELETE FROM usage_pricing WHERE workspace_id = @workspace_id;

-- name: UnpricedModels :many
-- What was asked and decided about models without a price, those that wait for a decision
-- first, each the oldest first.
SELECT u.model, u.provider, u.asked_at, u.budget, u.source, u.decision, u.counts_provider, u.counts_model, u.decided_by, u.decided_at
FROM unpriced_model u WHERE u.workspace_id = @workspace_id
ORDER BY u.decision <> '', u.asked_at, u.model;

-- name: UnpricedModelAsk :many
-- Asks about models that nobody was asked about before, and returns them; nothing where
-- max_open questions are open already: names are what agents say.
INSERT INTO unpriced_model (workspace_id, model, provider, budget, source)
SELECT @workspace_id, w.model, w.provider, w.budget, w.source
FROM (SELECT unnest(@models::text[]) AS model, unnest(@providers::text[]) AS provider, unnest(@budgets::text[]) AS budget,
    unnest(@sources::text[]) AS source) w
WHERE (SELECT count(*) FROM unpriced_model u WHERE u.workspace_id = @workspace_id AND u.decision = '') < @max_open::int
ORDER BY w.model COLLATE "C"
ON CONFLICT (workspace_id, model) DO NOTHING
RETURNING model, provider, budget, source;

-- name: UnpricedModelDecide :exec
-- Notes what a model counts as, or that it passes.
INSERT INTO unpriced_model (workspace_id, model, provider, decision, counts_provider, counts_model, decided_by, decided_at)
VALUES (@workspace_id, @model, @provider, @decision, @counts_provider, @counts_model, @decided_by, now())
ON CONFLICT (workspace_id, model) DO UPDATE SET decision = excluded.decision, counts_provider = excluded.counts_provider,
    counts_model = excluded.counts_model, decided_by = excluded.decided_by, decided_at = excluded.decided_at;
