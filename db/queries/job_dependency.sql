-- name: JobDependencyInsert :exec
INSERT INTO job_dependency (workspace_id, job_id, depends_on_id, type, created_by)
SELECT @workspace_id, unnest(@job_ids::uuid[]), unnest(@depends_on_ids::uuid[]), 'blocks', @created_by
ON CONFLICT DO NOTHING;

-- name: JobDependencyOpen :one
-- Whether a job still waits for another one.
SELECT EXISTS (
    SELECT 1 FROM job_dependency x JOIN job d ON d.workspace_id = x.workspace_id AND d.id = x.depends_on_id
    WHERE x.workspace_id = @workspace_id AND x.job_id = @job_id AND x.type = 'blocks'
        AND d.status NOT IN ('completed') AND NOT (d.status = 'archived' AND d.completed_at IS NOT NULL)
) AS open;

-- name: JobDependencyOpenAmong :many
-- Those of the jobs that do not yet satisfy a dependent. They are locked so that
-- none completes between this look and the commit of the new edges, which its
-- completion would then overlook.
SELECT id FROM job WHERE workspace_id = @workspace_id AND id = ANY(@ids::uuid[])
    AND status <> 'completed' AND NOT (status = 'archived' AND completed_at IS NOT NULL)
ORDER BY id FOR SHARE;

-- name: JobDependents :many
-- Jobs that wait for this one, in the order in which they are locked.
SELECT x.job_id FROM job_dependency x JOIN job d ON d.workspace_id = x.workspace_id AND d.id = x.job_id
WHERE x.workspace_id = @workspace_id AND x.depends_on_id = @job_id AND x.type = 'blocks'
    AND d.status = 'waiting' AND d.wait_reason = 'dependency'
ORDER BY x.job_id LIMIT @max_rows;

-- name: JobDependencyFreed :many
-- Jobs that wait for nothing any more although they say so: what a cap on
-- promotions, or a crash, left behind. The count is asked for each waiting job by
-- its id; as an anti-join it is planned by statistics, and reads whole tables
-- where they are missing.
SELECT j.id FROM job j
WHERE j.workspace_id = @workspace_id AND j.status = 'waiting' AND j.wait_reason = 'dependency'
    AND (SELECT count(*) FROM job_dependency x JOIN job d ON d.workspace_id = x.workspace_id AND d.id = x.depends_on_id
        WHERE x.workspace_id = j.workspace_id AND x.job_id = j.id AND x.type = 'blocks'
            AND d.status <> 'completed' AND NOT (d.status = 'archived' AND d.completed_at IS NOT NULL)) = 0
ORDER BY j.id LIMIT @max_rows;

-- name: JobLinks :many
SELECT d.key, d.title, d.status, true AS before FROM job_dependency x
JOIN job d ON d.workspace_id = x.workspace_id AND d.id = x.depends_on_id
WHERE x.workspace_id = @workspace_id AND x.job_id = @job_id AND x.type = 'blocks'
UNION ALL
SELECT d.key, d.title, d.status, false FROM job_dependency x
JOIN job d ON d.workspace_id = x.workspace_id AND d.id = x.job_id
WHERE x.workspace_id = @workspace_id AND x.depends_on_id = @job_id AND x.type = 'blocks'
ORDER BY 1 LIMIT 100;
