-- name: WorkspaceIDs :many
SELECT id FROM workspace ORDER BY id;

-- name: JobHeldWorkspaces :many
-- The workspaces in which jobs wait for a repo or for a place in the review queue.
SELECT DISTINCT workspace_id FROM job
WHERE status = 'waiting' AND wait_reason IN ('repo_busy', 'review_backlog');

-- name: CycleEdges :many
-- Who waits for whom among the jobs that wait for others and for nothing else.
-- Edges and ends are looked at by their ids: as joins they cost the square of
-- what waits where statistics are missing.
SELECT j.id AS job_id, e.depends_on_id::uuid AS depends_on_id FROM job j
CROSS JOIN LATERAL unnest(ARRAY(
    SELECT x.depends_on_id FROM job_dependency x
    WHERE x.workspace_id = @workspace_id AND x.job_id = j.id AND x.type = 'blocks')) AS e(depends_on_id)
WHERE j.workspace_id = @workspace_id AND j.status = 'waiting' AND j.wait_reason = 'dependency'
    AND (SELECT d.status = 'waiting' AND d.wait_reason = 'dependency' FROM job d
        WHERE d.workspace_id = @workspace_id AND d.id = e.depends_on_id)
LIMIT @max_rows;

-- name: CycleEdgesLeft :one
-- How many of these edges still hold: a member that failed for the same cycle
-- holds it as well as one that waits.
SELECT count(*)::int FROM (SELECT unnest(@job_ids::uuid[]) AS job_id, unnest(@depends_on_ids::uuid[]) AS depends_on_id) e
JOIN job_dependency x ON x.workspace_id = @workspace_id AND x.job_id = e.job_id
    AND x.depends_on_id = e.depends_on_id AND x.type = 'blocks'
JOIN job d ON d.workspace_id = x.workspace_id AND d.id = x.depends_on_id
WHERE d.status = 'waiting' OR (d.status = 'failed' AND d.last_error LIKE 'dependency_cycle%');
