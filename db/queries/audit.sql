-- name: AuditWorkspaces :many
SELECT id, slug FROM workspace ORDER BY id;

-- name: AuditJobs :many
-- A page of jobs by id, each with all that has to agree with it, as one moment
-- saw it.
SELECT j.id, j.key, j.status, j.wait_reason, j.epoch, j.attempts, j.lane_id, j.priority, j.ready_at, j.repo,
    r.lane_id AS queued_lane, r.priority AS queued_priority, r.ready_at AS queued_at,
    l.epoch AS lease_epoch,
    s.repo AS slot_repo,
    a.count AS attempt_count, a.lowest AS attempt_lowest, a.highest AS attempt_highest, a.open AS attempts_open,
    a.open_epoch AS attempt_open_epoch
FROM (SELECT * FROM job p WHERE p.workspace_id = @workspace_id AND p.id > @after ORDER BY p.id LIMIT @max_rows) j
LEFT JOIN job_ready r ON r.workspace_id = j.workspace_id AND r.job_id = j.id
LEFT JOIN job_lease l ON l.workspace_id = j.workspace_id AND l.job_id = j.id
LEFT JOIN repo_slot s ON s.workspace_id = j.workspace_id AND s.job_id = j.id
CROSS JOIN LATERAL (
    SELECT count(*) AS count, coalesce(min(t.epoch), 0)::bigint AS lowest, coalesce(max(t.epoch), 0)::bigint AS highest,
        count(*) FILTER (WHERE t.ended_at IS NULL) AS open,
        coalesce(max(t.epoch) FILTER (WHERE t.ended_at IS NULL), 0)::bigint AS open_epoch
    FROM attempt t WHERE t.workspace_id = j.workspace_id AND t.job_id = j.id
) a
ORDER BY j.id;

-- name: AuditHistories :many
-- A page of jobs by id, each with its events oldest first, as one moment saw
-- them. A job's changes are made one after another under its lock, so the ids
-- of its events follow their order.
SELECT j.id, j.key, j.status, j.wait_reason, j.blocked_reason, j.question, j.answer, j.title, j.phase, j.priority,
    j.factory, j.repo, p.name AS product, j.capabilities, j.tags, j.failure_count, j.lost_count, j.feedback,
    j.not_before, j.epoch, j.attempts,
    coalesce((SELECT jsonb_agg(jsonb_build_object('ID', e.id, 'Type', e.type, 'Epoch', e.epoch, 'Changes', e.changes)
        ORDER BY e.id) FROM event e WHERE e.workspace_id = j.workspace_id AND e.job_id = j.id), '[]')::jsonb AS events
FROM (SELECT * FROM job p WHERE p.workspace_id = @workspace_id AND p.id > @after ORDER BY p.id LIMIT @max_rows) j
JOIN product p ON p.workspace_id = j.workspace_id AND p.id = j.product_id
ORDER BY j.id;
