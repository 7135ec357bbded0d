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

-- name: AuditCounts :many
-- Where the counts of a workspace's jobs are not what there is, as one moment saw it.
SELECT coalesce(p.name, 'a product that is gone')::text AS product, c.status::text AS status, sum(c.counted)::bigint AS counted,
    sum(c.present)::bigint AS present
FROM (
    SELECT s.product_id, s.status, s.jobs AS counted, 0 AS present FROM job_count s WHERE s.workspace_id = @workspace_id
    UNION ALL
    SELECT n.product_id, n.status, n.jobs, 0 FROM job_count_change n WHERE n.workspace_id = @workspace_id
    UNION ALL
    SELECT j.product_id, j.status, 0, count(*) FROM job j WHERE j.workspace_id = @workspace_id GROUP BY j.product_id, j.status
) c LEFT JOIN product p ON p.workspace_id = @workspace_id AND p.id = c.product_id
GROUP BY p.name, c.status HAVING sum(c.counted) <> sum(c.present) ORDER BY product, c.status;

-- name: AuditStray :many
-- Rows that belong to a job, an agent or a factory which is not there: of the jobs
-- whose ids are between two.
SELECT s.about::text AS about, s.job_id FROM (
    SELECT 'a ready row' AS about, r.job_id FROM job_ready r
    WHERE r.workspace_id = @workspace_id AND r.job_id > @after AND r.job_id <= @last
    UNION ALL
    SELECT 'a lease', l.job_id FROM job_lease l
    WHERE l.workspace_id = @workspace_id AND l.job_id > @after AND l.job_id <= @last
    UNION ALL
    SELECT 'an attempt', a.job_id FROM attempt a
    WHERE a.workspace_id = @workspace_id AND a.job_id > @after AND a.job_id <= @last
    UNION ALL
    SELECT 'a text', t.job_id FROM job_text t
    WHERE t.workspace_id = @workspace_id AND t.job_id > @after AND t.job_id <= @last
) s WHERE NOT EXISTS (SELECT FROM job j WHERE j.workspace_id = @workspace_id AND j.id = s.job_id)
UNION ALL
SELECT 'a lease of an agent or a factory that is not there', l.job_id FROM job_lease l
WHERE l.workspace_id = @workspace_id AND l.job_id > @after AND l.job_id <= @last AND NOT (
    EXISTS (SELECT FROM agent a WHERE a.workspace_id = @workspace_id AND a.id = l.agent_id)
    AND EXISTS (SELECT FROM factory f WHERE f.workspace_id = @workspace_id AND f.id = l.factory_id))
ORDER BY about, job_id;
