-- name: ReadyHeads :many
-- The most urgent job of each lane. A lane without one gives no row.
SELECT l.lane_id::bigint AS lane_id, h.priority, h.ready_at
FROM unnest(@lanes::bigint[]) AS l(lane_id)
CROSS JOIN LATERAL (
    SELECT r.priority, r.ready_at FROM job_ready r
    WHERE r.workspace_id = @workspace_id AND r.lane_id = l.lane_id
    ORDER BY r.priority DESC, r.ready_at, r.job_id LIMIT 1
) h;

-- name: ReadyLanesOfProduct :many
-- The lanes of a product that have a claimable job.
SELECT l.id FROM lane l WHERE l.workspace_id = @workspace_id AND l.product_id = @product_id
    AND EXISTS (SELECT 1 FROM job_ready r WHERE r.workspace_id = l.workspace_id AND r.lane_id = l.id)
ORDER BY l.id;
