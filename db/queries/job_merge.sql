-- name: JobMergeWorkspaces :many
-- Where approved work is merged by factories. For the system role.
SELECT workspace_id FROM product WHERE merge_by <> 'person'
UNION
SELECT workspace_id FROM job_merge WHERE decided_at IS NULL;

-- name: JobMergeWanted :many
-- Approved work that a factory is to merge and for which there is no open merge, and how
-- many there were before.
SELECT j.id, j.key, j.title, j.repo, j.priority, j.approved_head, p.name AS product, p.merge_by, p.merge_method, p.merge_into, p.merge_checks,
    coalesce(j.result->>'branch', '')::text AS branch,
    (SELECT count(*) FROM job_merge m WHERE m.workspace_id = j.workspace_id AND m.job_id = j.id)::bigint AS times
FROM product p JOIN job j ON j.workspace_id = p.workspace_id AND j.product_id = p.id
WHERE p.workspace_id = @workspace_id AND p.merge_by <> 'person' AND j.status = 'approved' AND j.kind <> 'merge'
    AND j.repo <> '' AND j.approved_head <> ''
    AND NOT EXISTS (SELECT FROM job_merge m WHERE m.workspace_id = j.workspace_id AND m.job_id = j.id AND m.decided_at IS NULL)
ORDER BY j.id LIMIT @max_rows;

-- name: JobMergeOpen :many
-- Open merges, with what became of both jobs.
SELECT m.merge_job_id, m.job_id, own.key AS merge_key, own.status AS merge_status, own.last_error,
    coalesce(own.result->>'merged_commit', '')::text AS merged_commit, coalesce(own.result->>'url', '')::text AS url, j.key, j.status
FROM job_merge m
JOIN job own ON own.workspace_id = m.workspace_id AND own.id = m.merge_job_id
JOIN job j ON j.workspace_id = m.workspace_id AND j.id = m.job_id
WHERE m.workspace_id = @workspace_id AND m.decided_at IS NULL ORDER BY m.merge_job_id LIMIT @max_rows;

-- name: JobMergeInsert :exec
INSERT INTO job_merge (workspace_id, merge_job_id, job_id) VALUES (@workspace_id, @merge_job_id, @job_id)
ON CONFLICT DO NOTHING;

-- name: JobMergeDecide :exec
UPDATE job_merge SET decided_at = now() WHERE workspace_id = @workspace_id AND merge_job_id = @merge_job_id AND decided_at IS NULL;

-- name: JobMergeLast :one
-- The job that merges a job, or did it last, and the address of its pull request as far as
-- it is known.
SELECT own.key, own.status, coalesce(own.result->>'url', l.checkpoint->>'url', own.checkpoint->>'url', '')::text AS url
FROM job_merge m JOIN job own ON own.workspace_id = m.workspace_id AND own.id = m.merge_job_id
LEFT JOIN job_lease l ON l.workspace_id = own.workspace_id AND l.job_id = own.id
WHERE m.workspace_id = @workspace_id AND m.job_id = @job_id ORDER BY m.created_at DESC, m.merge_job_id DESC LIMIT 1;
