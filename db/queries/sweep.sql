-- name: WorkspaceIDs :many
SELECT id FROM workspace ORDER BY id;

-- name: JobHeldWorkspaces :many
-- The workspaces in which jobs wait for a repo or for a place in the review queue.
SELECT DISTINCT workspace_id FROM job
WHERE status = 'waiting' AND wait_reason IN ('repo_busy', 'review_backlog');

-- name: CycleEdges :many
-- Who waits for whom among the jobs that wait for others and for nothing else.
SELECT x.job_id, x.depends_on_id FROM job j
JOIN job_dependency x ON x.workspace_id = j.workspace_id AND x.job_id = j.id AND x.type = 'blocks'
JOIN job d ON d.workspace_id = x.workspace_id AND d.id = x.depends_on_id
WHERE j.workspace_id = @workspace_id AND j.status = 'waiting' AND j.wait_reason = 'dependency'
    AND d.status = 'waiting' AND d.wait_reason = 'dependency'
LIMIT @max_rows;

-- name: CycleEdgesLeft :one
-- How many of these edges still hold: a member that failed for the same cycle
-- holds it as well as one that waits.
SELECT count(*)::int FROM (SELECT unnest(@job_ids::uuid[]) AS job_id, unnest(@depends_on_ids::uuid[]) AS depends_on_id) e
JOIN job_dependency x ON x.workspace_id = @workspace_id AND x.job_id = e.job_id
    AND x.depends_on_id = e.depends_on_id AND x.type = 'blocks'
JOIN job d ON d.workspace_id = x.workspace_id AND d.id = x.depends_on_id
WHERE d.status = 'waiting' OR (d.status = 'failed' AND d.last_error LIKE 'dependency_cycle%');
