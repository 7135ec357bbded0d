-- name: LanesReady :many
-- Those of the lanes that have a claimable job, and which comes first: one look at
-- the index for each.
SELECT l.lane_id::bigint AS lane_id, h.job_id FROM unnest(@lanes::bigint[]) AS l(lane_id)
CROSS JOIN LATERAL (
    SELECT r.job_id FROM job_ready r WHERE r.workspace_id = @workspace_id AND r.lane_id = l.lane_id
    ORDER BY r.priority DESC, r.place, r.tie_break LIMIT 1
) h;

-- name: LaneNewest :one
SELECT coalesce(max(id), 0)::bigint AS id FROM lane WHERE workspace_id = @workspace_id;
