-- name: JobDependencyInsert :exec
INSERT INTO job_dependency (workspace_id, job_id, depends_on_id, type, created_by)
SELECT @workspace_id, unnest(@job_ids::uuid[]), unnest(@depends_on_ids::uuid[]), 'blocks', @created_by
ON CONFLICT DO NOTHING;

-- name: JobDependencyOpen :one
-- Whether a job still waits for another one: for what blocks it until that is
-- completed, for a child with a gate until that has ended.
SELECT EXISTS (
    SELECT 1 FROM job_dependency x JOIN job d ON d.workspace_id = x.workspace_id AND d.id = x.depends_on_id
    WHERE x.workspace_id = @workspace_id AND x.job_id = @job_id AND x.type IN ('blocks', 'gate')
        AND d.status <> 'completed' AND NOT (d.status = 'archived' AND d.completed_at IS NOT NULL)
        AND NOT (x.type = 'gate' AND d.status IN ('failed', 'aborted', 'archived'))
) AS open;

-- name: JobKeepUncompleted :exec
-- Keeps those of the jobs from being completed that could be before the new edges
-- are committed, which their completion would overlook. Jobs that wait are left
-- alone: a completion locks them after its own job, whatever their ids, and has to
-- find them free; before one of them is completed it has to be claimed, and the
-- sweep stands behind.
SELECT FROM job WHERE workspace_id = @workspace_id AND id = ANY(@ids::uuid[])
    AND status NOT IN ('waiting', 'completed', 'archived') ORDER BY id FOR SHARE;

-- name: JobDependencyOpenAmong :many
-- Those of the jobs that do not yet satisfy a dependent.
SELECT id FROM job WHERE workspace_id = @workspace_id AND id = ANY(@ids::uuid[])
    AND status <> 'completed' AND NOT (status = 'archived' AND completed_at IS NOT NULL);

-- name: JobDependents :many
-- Jobs that wait for this one by links of some types, in the order in which they are
-- locked. Each is looked at by its id: as a join, all that wait are read where
-- statistics are missing.
SELECT DISTINCT x.job_id FROM job_dependency x
WHERE x.workspace_id = @workspace_id AND x.depends_on_id = @job_id AND x.type = ANY(@types::text[])
    AND (SELECT d.status = 'waiting' AND d.wait_reason = 'dependency' FROM job d
        WHERE d.workspace_id = x.workspace_id AND d.id = x.job_id)
ORDER BY x.job_id LIMIT @max_rows;

-- name: JobReadyParents :many
-- Ready jobs that are to wait for this one, their child, in the order in which they are
-- locked.
SELECT x.job_id FROM job_dependency x
WHERE x.workspace_id = @workspace_id AND x.depends_on_id = @job_id AND x.type = 'gate'
    AND (SELECT d.status = 'ready' FROM job d WHERE d.workspace_id = x.workspace_id AND d.id = x.job_id)
ORDER BY x.job_id;

-- name: JobReleasedDependents :many
-- Jobs that are to wait for this one and are ready, or were claimed since a time, in the
-- order in which they are locked.
SELECT DISTINCT x.job_id FROM job_dependency x
WHERE x.workspace_id = @workspace_id AND x.depends_on_id = @job_id AND x.type IN ('blocks', 'gate')
    AND (SELECT d.status = 'ready' OR d.assigned_at >= @since::timestamptz FROM job d
        WHERE d.workspace_id = x.workspace_id AND d.id = x.job_id)
ORDER BY x.job_id;

-- name: JobDependencyFreed :many
-- Jobs that wait for nothing any more although they say so: what a cap on
-- promotions, or a crash, left behind. What each waits for is looked at by its id;
-- as an anti-join it is planned by statistics, and reads whole tables where they
-- are missing.
SELECT j.id FROM job j
WHERE j.workspace_id = @workspace_id AND j.status = 'waiting' AND j.wait_reason = 'dependency'
    AND (SELECT 1 FROM job_dependency x JOIN job d ON d.workspace_id = x.workspace_id AND d.id = x.depends_on_id
        WHERE x.workspace_id = j.workspace_id AND x.job_id = j.id AND x.type IN ('blocks', 'gate')
            AND d.status <> 'completed' AND NOT (d.status = 'archived' AND d.completed_at IS NOT NULL)
            AND NOT (x.type = 'gate' AND d.status IN ('failed', 'aborted', 'archived')) LIMIT 1) IS NULL
ORDER BY j.id LIMIT @max_rows;

-- name: JobOpenChildren :many
-- The keys of a job's children that are not done with.
SELECT c.key FROM job_dependency x JOIN job c ON c.workspace_id = x.workspace_id AND c.id = x.job_id
WHERE x.workspace_id = @workspace_id AND x.depends_on_id = @job_id AND x.type = 'parent'
    AND c.status NOT IN ('completed', 'failed', 'aborted', 'archived')
ORDER BY c.key LIMIT @max_rows;

-- name: JobHolders :many
-- The keys of the jobs that would lose something they wait for, or their parent, with
-- this one.
SELECT c.key FROM job_dependency x JOIN job c ON c.workspace_id = x.workspace_id AND c.id = x.job_id
WHERE x.workspace_id = @workspace_id AND x.depends_on_id = @job_id AND x.type IN ('blocks', 'parent')
ORDER BY c.key LIMIT @max_rows;

-- name: JobLinkInsert :execrows
-- No row means that the link is there already.
INSERT INTO job_dependency (workspace_id, job_id, depends_on_id, type, created_by)
VALUES (@workspace_id, @job_id, @depends_on_id, @type, @created_by)
ON CONFLICT DO NOTHING;

-- name: JobLinkDelete :many
-- Takes links from one job to another away: of one type, or of every type where
-- it is empty, but gates, which are the other job's.
DELETE FROM job_dependency
WHERE workspace_id = @workspace_id AND job_id = @job_id AND depends_on_id = @depends_on_id
    AND CASE WHEN @type::text = '' THEN type <> 'gate' ELSE type = @type END
RETURNING type;

-- name: JobIsGated :one
-- Whether a job waits for its child.
SELECT EXISTS (SELECT FROM job_dependency
    WHERE workspace_id = @workspace_id AND job_id = @job_id AND depends_on_id = @child_id AND type = 'gate');

-- name: JobKeepOpen :one
-- Locks a job that another one is to wait for, or fails at once where somebody is
-- changing it, and says whether it satisfies a dependent.
SELECT (status = 'completed' OR status = 'archived' AND completed_at IS NOT NULL)::boolean AS done FROM job
WHERE workspace_id = @workspace_id AND id = @id FOR SHARE NOWAIT;

-- name: JobKeepChild :one
-- Locks a child for which its parent is to wait, or no longer, as JobKeepOpen does, so
-- that its links can change too, and says whether it has ended.
SELECT (status IN ('completed', 'failed', 'aborted', 'archived'))::boolean AS done FROM job
WHERE workspace_id = @workspace_id AND id = @id FOR NO KEY UPDATE NOWAIT;

-- name: JobWaitsFor :one
-- Whether one of some jobs waits for another one, by way of any others: for what
-- blocks it, for children with a gate, and for all of them where it waits for them.
-- Statuses do not count.
WITH RECURSIVE reached AS (
    SELECT f.id FROM unnest(@from_ids::uuid[]) AS f(id)
    UNION
    SELECT e.id FROM reached r CROSS JOIN LATERAL (
        SELECT x.depends_on_id AS id FROM job_dependency x
        WHERE x.workspace_id = @workspace_id AND x.job_id = r.id AND x.type IN ('blocks', 'gate')
        UNION ALL
        SELECT x.job_id FROM job p
        JOIN job_dependency x ON x.workspace_id = p.workspace_id AND x.depends_on_id = p.id AND x.type = 'parent'
        WHERE p.workspace_id = @workspace_id AND p.id = r.id AND p.waits_for_children
    ) e
)
SELECT EXISTS (SELECT 1 FROM reached WHERE reached.id = @to_id::uuid) AS waits;

-- name: JobWaitEdges :many
-- The edges that JobWaitsFor follows, for the path of a refusal.
WITH RECURSIVE reached AS (
    SELECT f.id FROM unnest(@from_ids::uuid[]) AS f(id)
    UNION
    SELECT e.id FROM reached r CROSS JOIN LATERAL (
        SELECT x.depends_on_id AS id FROM job_dependency x
        WHERE x.workspace_id = @workspace_id AND x.job_id = r.id AND x.type IN ('blocks', 'gate')
        UNION ALL
        SELECT x.job_id FROM job p
        JOIN job_dependency x ON x.workspace_id = p.workspace_id AND x.depends_on_id = p.id AND x.type = 'parent'
        WHERE p.workspace_id = @workspace_id AND p.id = r.id AND p.waits_for_children
    ) e
)
SELECT r.id::uuid AS from_id, e.id::uuid AS to_id FROM reached r CROSS JOIN LATERAL (
    SELECT x.depends_on_id AS id FROM job_dependency x
    WHERE x.workspace_id = @workspace_id AND x.job_id = r.id AND x.type IN ('blocks', 'gate')
    UNION ALL
    SELECT x.job_id FROM job p
    JOIN job_dependency x ON x.workspace_id = p.workspace_id AND x.depends_on_id = p.id AND x.type = 'parent'
    WHERE p.workspace_id = @workspace_id AND p.id = r.id AND p.waits_for_children
) e;

-- name: JobParentEdges :many
-- A job's parents, and theirs, each with the job that it is the parent of. Parents
-- are asked for as arrays: whatever the statistics say, they are found by their child.
WITH RECURSIVE reached AS (
    SELECT @from_id::uuid AS id
    UNION
    SELECT unnest(ARRAY(SELECT x.depends_on_id FROM job_dependency x
        WHERE x.workspace_id = @workspace_id AND x.job_id = r.id AND x.type = 'parent'))
    FROM reached r
)
SELECT r.id::uuid AS from_id, unnest(ARRAY(SELECT x.depends_on_id FROM job_dependency x
    WHERE x.workspace_id = @workspace_id AND x.job_id = r.id AND x.type = 'parent'))::uuid AS to_id
FROM reached r;

-- name: JobChildren :many
SELECT job_id FROM job_dependency
WHERE workspace_id = @workspace_id AND depends_on_id = @job_id AND type = 'parent';

-- name: JobAround :many
-- The jobs linked with one job in either direction, directly or by way of others,
-- the nearest first, the job itself foremost.
WITH RECURSIVE around AS (
    SELECT @id::uuid AS id
    UNION
    SELECT e.id FROM around a CROSS JOIN LATERAL (
        SELECT x.depends_on_id AS id FROM job_dependency x WHERE x.workspace_id = @workspace_id AND x.job_id = a.id
        UNION ALL
        SELECT x.job_id FROM job_dependency x WHERE x.workspace_id = @workspace_id AND x.depends_on_id = a.id
    ) e
)
SELECT id::uuid AS id FROM around LIMIT @max_rows;

-- name: JobNodes :many
SELECT id, key, title, status FROM job WHERE workspace_id = @workspace_id AND id = ANY(@ids::uuid[]);

-- name: JobLinksAmong :many
-- The links between the jobs of a set, of parents with whether they wait for the child.
SELECT x.job_id, x.depends_on_id, x.type, (x.type = 'parent' AND EXISTS (SELECT FROM job_dependency g
        WHERE g.workspace_id = x.workspace_id AND g.job_id = x.depends_on_id AND g.depends_on_id = x.job_id AND g.type = 'gate')
    )::boolean AS gate FROM job_dependency x
WHERE x.workspace_id = @workspace_id AND x.job_id = ANY(@ids::uuid[]) AND x.depends_on_id = ANY(@ids::uuid[]) AND x.type <> 'gate'
ORDER BY x.created_at, x.job_id, x.depends_on_id, x.type;
