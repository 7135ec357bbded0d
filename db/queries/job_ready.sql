-- name: ReadyHeads :many
-- The most urgent job of each lane, from a place in its order on. A lane without
-- one gives no row. blocks is how long the way to it was: PostgreSQL counts on
-- from one transaction to the next, so it is asked before and after each lane.
SELECT l.lane_id::bigint AS lane_id, h.priority, h.ready_at, h.job_id, (pg_stat_get_xact_blocks_fetched('public.job_ready'::regclass)
    + pg_stat_get_xact_blocks_fetched('public.job_ready_claim'::regclass) - l.blocks)::bigint AS blocks
FROM (SELECT unnest(@lanes::bigint[]) AS lane_id, unnest(@priorities::smallint[]) AS priority,
    unnest(@ready_ats::timestamptz[]) AS ready_at, unnest(@job_ids::uuid[]) AS job_id,
    pg_stat_get_xact_blocks_fetched('public.job_ready'::regclass)
        + pg_stat_get_xact_blocks_fetched('public.job_ready_claim'::regclass) AS blocks) l
CROSS JOIN LATERAL (
    (SELECT r.priority, r.ready_at, r.job_id FROM job_ready r
    WHERE r.workspace_id = @workspace_id AND r.lane_id = l.lane_id AND r.priority = l.priority
        AND (r.ready_at, r.job_id) >= (l.ready_at, l.job_id)
    ORDER BY r.ready_at, r.job_id LIMIT 1)
    UNION ALL
    (SELECT r.priority, r.ready_at, r.job_id FROM job_ready r
    WHERE r.workspace_id = @workspace_id AND r.lane_id = l.lane_id AND r.priority < l.priority
    ORDER BY r.priority DESC, r.ready_at, r.job_id LIMIT 1)
    LIMIT 1
) h;

-- name: ReadyLanesOfProduct :many
-- The lanes of a product that have a claimable job.
SELECT l.id FROM lane l WHERE l.workspace_id = @workspace_id AND l.product_id = @product_id
    AND EXISTS (SELECT 1 FROM job_ready r WHERE r.workspace_id = l.workspace_id AND r.lane_id = l.id)
ORDER BY l.id;
