-- name: DispatchSettingGet :many
-- No row where all is as by default.
SELECT mode, offer_seconds, affinity_seconds, weights, preempt_gap, ageing_minutes, short_jobs_first, version
FROM dispatch_setting WHERE workspace_id = @workspace_id;

-- name: DispatchSettingSave :exec
INSERT INTO dispatch_setting (workspace_id, mode, offer_seconds, affinity_seconds, weights, preempt_gap, ageing_minutes,
    short_jobs_first, version)
VALUES (@workspace_id, @mode, @offer_seconds, @affinity_seconds, @weights, @preempt_gap, @ageing_minutes, @short_jobs_first, 1)
ON CONFLICT (workspace_id) DO UPDATE SET mode = excluded.mode, offer_seconds = excluded.offer_seconds,
    affinity_seconds = excluded.affinity_seconds, weights = excluded.weights, preempt_gap = excluded.preempt_gap,
    ageing_minutes = excluded.ageing_minutes, short_jobs_first = excluded.short_jobs_first, version = dispatch_setting.version + 1;

-- name: DispatchWeights :many
-- The products that weigh other than 1.
SELECT id, name, dispatch_weight FROM product WHERE workspace_id = @workspace_id AND dispatch_weight <> 1 ORDER BY name;

-- name: DispatchWeightsSave :many
-- Writes the weights of products by name, and gives the names of those that are there.
UPDATE product p SET dispatch_weight = w.weight
FROM (SELECT unnest(@names::text[]) AS name, unnest(@weights::smallint[]) AS weight) w
WHERE p.workspace_id = @workspace_id AND p.name = w.name RETURNING p.name;
