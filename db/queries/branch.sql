-- name: BranchesEnded :many
-- The branches of the last attempts of jobs that ended in a repo longer ago than their product
-- keeps branches: as an attempt handed them in, as its worker told them last or, where neither
-- says so, as they were delivered. Of each job there are at most max_attempts, the newest first.
SELECT j.id AS job_id, j.key, a.epoch, coalesce(a.result ->> 'branch', a.checkpoint -> 'fleet_worker' ->> 'branch', a.delivery_branch)::text AS branch,
    coalesce(a.result ->> 'commit', a.checkpoint -> 'fleet_worker' ->> 'commit', a.delivery_commit)::text AS commit,
    (j.merged_commit <> '')::boolean AS merged,
    (a.outcome = 'completed' AND j.completed_at IS NOT NULL AND j.merged_commit = '')::boolean AS unmerged,
    j.approved_head AS approved, coalesce(j.completed_at, j.failed_at, j.status_at)::timestamptz AS ended_at
FROM job j JOIN product p ON p.workspace_id = j.workspace_id AND p.id = j.product_id
CROSS JOIN LATERAL (SELECT x.epoch, x.result, x.checkpoint, x.outcome, x.delivery_branch, x.delivery_commit FROM attempt x
    WHERE x.workspace_id = j.workspace_id AND x.job_id = j.id AND x.ended_at IS NOT NULL ORDER BY x.epoch DESC LIMIT @max_attempts) a
WHERE j.workspace_id = @workspace_id AND j.key = ANY(@keys::text[]) AND j.repo = @repo
    AND j.status IN ('completed', 'failed', 'aborted', 'archived')
    AND p.branch_retention_days > 0
        AND coalesce(j.completed_at, j.failed_at, j.status_at) < now() - make_interval(days => p.branch_retention_days)
ORDER BY j.key, a.epoch DESC;
