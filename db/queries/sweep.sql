-- name: WorkspaceIDs :many
SELECT id FROM workspace ORDER BY id;

-- name: JobHeldWorkspaces :many
-- The workspaces in which jobs wait for a repo, a path, or a place in the review queue,
-- found by skipping from one to the next.
WITH RECURSIVE held AS (
    (SELECT j.workspace_id FROM job j
    WHERE j.status = 'waiting' AND j.wait_reason IN ('repo_busy', 'review_backlog', 'paths_busy')
    ORDER BY j.workspace_id LIMIT 1)
    UNION ALL
    SELECT (SELECT j.workspace_id FROM job j
        WHERE j.status = 'waiting' AND j.wait_reason IN ('repo_busy', 'review_backlog', 'paths_busy') AND j.workspace_id > h.workspace_id
        ORDER BY j.workspace_id LIMIT 1)
    FROM held h WHERE h.workspace_id IS NOT NULL
)
SELECT held.workspace_id::uuid AS workspace_id FROM held WHERE held.workspace_id IS NOT NULL;

-- name: CycleEdges :many
-- Who waits for whom among the jobs that wait for others and for nothing else: the
-- edges of some of them, next to one another at a random place or all where there
-- are no more, and the edges that these lead to, so that each cycle with one of
-- them is whole. Edges and ends are looked at by their ids: as joins they cost the
-- square of what waits where statistics are missing.
WITH RECURSIVE origin AS MATERIALIZED (
    SELECT j.id FROM job j WHERE j.workspace_id = @workspace_id AND j.status = 'waiting' AND j.wait_reason = 'dependency'
    ORDER BY j.id LIMIT 20000
    OFFSET (SELECT greatest(least(floor(random() * n.jobs)::bigint - 20000 / 2, n.jobs - 20000), 0) FROM (
        SELECT count(*) AS jobs FROM job c
        WHERE c.workspace_id = @workspace_id AND c.status = 'waiting' AND c.wait_reason = 'dependency') n)
), edge AS (
    SELECT s.id AS job_id, e.depends_on_id FROM origin s
    CROSS JOIN LATERAL unnest(ARRAY(
        SELECT x.depends_on_id FROM job_dependency x
        WHERE x.workspace_id = @workspace_id AND x.job_id = s.id AND x.type IN ('blocks', 'gate'))) AS e(depends_on_id)
    WHERE (SELECT d.status = 'waiting' AND d.wait_reason = 'dependency' FROM job d
        WHERE d.workspace_id = @workspace_id AND d.id = e.depends_on_id)
    UNION
    SELECT g.depends_on_id, e.depends_on_id FROM edge g
    CROSS JOIN LATERAL unnest(ARRAY(
        SELECT x.depends_on_id FROM job_dependency x
        WHERE x.workspace_id = @workspace_id AND x.job_id = g.depends_on_id AND x.type IN ('blocks', 'gate'))) AS e(depends_on_id)
    WHERE (SELECT d.status = 'waiting' AND d.wait_reason = 'dependency' FROM job d
        WHERE d.workspace_id = @workspace_id AND d.id = e.depends_on_id)
)
SELECT edge.job_id, edge.depends_on_id::uuid AS depends_on_id FROM edge LIMIT @max_rows;

-- name: CycleEdgesLeft :one
-- How many of these edges still hold: a member that failed for the same cycle
-- holds it as well as one that waits, but for a parent with a gate.
SELECT count(DISTINCT (e.job_id, e.depends_on_id))::int FROM (SELECT unnest(@job_ids::uuid[]) AS job_id, unnest(@depends_on_ids::uuid[]) AS depends_on_id) e
JOIN job_dependency x ON x.workspace_id = @workspace_id AND x.job_id = e.job_id
    AND x.depends_on_id = e.depends_on_id AND x.type IN ('blocks', 'gate')
JOIN job d ON d.workspace_id = x.workspace_id AND d.id = x.depends_on_id
WHERE d.status = 'waiting' OR (x.type = 'blocks' AND d.status = 'failed' AND d.last_error LIKE 'dependency_cycle%');
