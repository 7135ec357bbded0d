-- name: JobMergeWorkspaces :many
-- Where approved work is merged by factories. For the system role.
SELECT workspace_id FROM product WHERE merge_by <> 'person'
UNION
SELECT workspace_id FROM job_merge WHERE decided_at IS NULL;

-- name: JobMergeWanted :many
-- Approved work that a factory is to merge, or that has nothing to merge, without an open
-- merge; not what is held after a refusal, nor a commit that its factory has yet to push.
SELECT j.id, j.key, j.title, j.version, j.repo, j.priority, j.approved_head, p.name AS product, p.merge_by, p.merge_method, p.merge_into,
    p.merge_checks, j.files, coalesce(j.result->>'branch', '')::text AS branch
FROM product p JOIN job j ON j.workspace_id = p.workspace_id AND j.product_id = p.id
WHERE p.workspace_id = @workspace_id AND p.merge_by <> 'person' AND j.status = 'approved' AND (j.repo <> '' OR j.approved_head = '')
    AND NOT EXISTS (SELECT FROM job_merge m WHERE m.workspace_id = j.workspace_id AND m.job_id = j.id AND m.decided_at IS NULL)
    AND NOT EXISTS (SELECT FROM job_merge_hold h WHERE h.workspace_id = j.workspace_id AND h.job_id = j.id AND h.until > now())
    AND NOT EXISTS (SELECT FROM attempt a WHERE a.workspace_id = j.workspace_id AND a.job_id = j.id AND a.epoch = j.epoch
        AND a.delivery IN ('awaited', 'refused') AND a.delivery_commit IN ('', j.approved_head))
ORDER BY j.id LIMIT @max_rows;

-- name: JobMergeLock :many
-- Keeps approved work as it is until the transaction ends: no row where it is approved no
-- more, or as another commit.
SELECT id FROM job WHERE workspace_id = @workspace_id AND id = @job_id AND status = 'approved' AND approved_head = @commit
FOR NO KEY UPDATE;

-- name: JobMergeInsert :execrows
-- Notes what a job merges. No row means that the work has an open merge.
INSERT INTO job_merge (workspace_id, merge_job_id, job_id, commit, branch, merge_by, method, into_branch, checks, url)
VALUES (@workspace_id, @merge_job_id, @job_id, @commit, @branch, @merge_by, @method, @into_branch, @checks, @url)
ON CONFLICT DO NOTHING;

-- name: JobMergeOrders :many
-- What jobs are to merge: exactly what was approved and is approved still, in the repo and
-- the product that it was approved in, and the pull request that the merge before this one
-- opened of the work, with the commit that it was of. A job without a row has no order.
SELECT m.merge_job_id, j.key, j.title, m.commit, m.branch, m.merge_by, m.method, m.into_branch, m.checks, m.url,
    coalesce(p.pull_number, 0)::int AS pull_number, coalesce(p.pull_branch, '')::text AS pull_branch, coalesce(p.commit, '')::text AS pull_commit
FROM (SELECT unnest(@merge_job_ids::uuid[]) AS id) asked
JOIN job_merge m ON m.workspace_id = @workspace_id AND m.merge_job_id = asked.id
JOIN job own ON own.workspace_id = m.workspace_id AND own.id = m.merge_job_id
JOIN job j ON j.workspace_id = m.workspace_id AND j.id = m.job_id
LEFT JOIN LATERAL (SELECT b.pull_number, b.pull_branch, b.commit FROM job_merge b
    WHERE b.workspace_id = m.workspace_id AND b.job_id = m.job_id AND b.pull_number > 0 AND b.merge_job_id <> m.merge_job_id
        AND m.merge_by = 'pull_request'
    ORDER BY b.created_at DESC, b.merge_job_id DESC LIMIT 1) p ON true
WHERE m.decided_at IS NULL AND m.commit <> '' AND j.status = 'approved' AND j.approved_head = m.commit
    AND own.repo = j.repo AND own.product_id = j.product_id;

-- name: JobMergeOpen :many
-- Open merges about which something is to be decided: the merge job has ended, or the work
-- is not approved any more, or as another commit; not what is held after a refusal, nor a
-- merge job whose agent was asked to stop.
SELECT m.merge_job_id, m.job_id, m.commit, own.key AS merge_key, own.status AS merge_status, own.last_error, own.failure_kind, m.merge_by,
    coalesce(own.result->>'merged_commit', '')::text AS merged_commit, coalesce(own.result->>'url', '')::text AS url,
    j.key, j.status, j.version, j.approved_head
FROM job_merge m
JOIN job own ON own.workspace_id = m.workspace_id AND own.id = m.merge_job_id
JOIN job j ON j.workspace_id = m.workspace_id AND j.id = m.job_id
WHERE m.workspace_id = @workspace_id AND m.decided_at IS NULL
    AND (own.status IN ('completed', 'failed', 'aborted', 'archived') OR j.status <> 'approved' OR j.approved_head <> m.commit)
    AND NOT EXISTS (SELECT FROM job_merge_hold h WHERE h.workspace_id = m.workspace_id AND h.job_id = m.job_id AND h.until > now())
    AND NOT EXISTS (SELECT 1 FROM job_lease l WHERE l.workspace_id = m.workspace_id AND l.job_id = m.merge_job_id AND l.directive = 'cancel')
ORDER BY m.merge_job_id LIMIT @max_rows;

-- name: JobMergeSendBack :exec
-- Notes that a merge is decided: its checks send the work back.
UPDATE job_merge SET decided_at = now(), sent_back = true
WHERE workspace_id = @workspace_id AND merge_job_id = @merge_job_id AND decided_at IS NULL;

-- name: JobMergeDecide :exec
UPDATE job_merge SET decided_at = now() WHERE workspace_id = @workspace_id AND merge_job_id = @merge_job_id AND decided_at IS NULL;

-- name: JobMergeHold :exec
-- Leaves work alone for five seconds after a refusal, each time twice as long, at most so
-- many seconds.
INSERT INTO job_merge_hold (workspace_id, job_id, tries, until)
VALUES (@workspace_id, @job_id, 1, now() + interval '5 seconds')
ON CONFLICT (workspace_id, job_id) DO UPDATE SET tries = job_merge_hold.tries + 1,
    until = now() + least(interval '5 seconds' * power(2, least(job_merge_hold.tries, 20)), make_interval(secs => @longest_seconds::int));

-- name: JobMergeRelease :exec
DELETE FROM job_merge_hold WHERE workspace_id = @workspace_id AND job_id = @job_id;

-- name: JobMergeLast :one
-- The job that merges a job, or did it last, and the address of its pull request as far as
-- it is known.
SELECT own.key, own.status, coalesce(own.result->>'url', nullif(m.pull_url, ''), l.checkpoint->>'url', own.checkpoint->>'url', '')::text AS url
FROM job_merge m JOIN job own ON own.workspace_id = m.workspace_id AND own.id = m.merge_job_id
LEFT JOIN job_lease l ON l.workspace_id = own.workspace_id AND l.job_id = own.id
WHERE m.workspace_id = @workspace_id AND m.job_id = @job_id ORDER BY m.created_at DESC, m.merge_job_id DESC LIMIT 1;

-- name: JobMergeWaits :one
-- Who merges approved work, and how: as its open merge was told or, without one, as its
-- product says; with the merge job, whoever works on it, and its last error.
SELECT coalesce(m.merge_by, p.merge_by)::text AS merge_by, coalesce(m.method, p.merge_method)::text AS method,
    coalesce(m.into_branch, p.merge_into)::text AS into_branch, coalesce(own.key, '')::text AS merge_key,
    coalesce(own.last_error, '')::text AS last_error, coalesce(l.agent, '')::text AS agent, coalesce(l.factory, '')::text AS factory
FROM job j JOIN product p ON p.workspace_id = j.workspace_id AND p.id = j.product_id
LEFT JOIN job_merge m ON m.workspace_id = j.workspace_id AND m.job_id = j.id AND m.decided_at IS NULL
LEFT JOIN job own ON own.workspace_id = m.workspace_id AND own.id = m.merge_job_id
LEFT JOIN job_lease l ON l.workspace_id = own.workspace_id AND l.job_id = own.id
WHERE j.workspace_id = @workspace_id AND j.id = @job_id;

-- name: JobMergePull :one
-- What a merge job merges by pull request, as long as that is not decided.
SELECT m.job_id FROM job_merge m
WHERE m.workspace_id = @workspace_id AND m.merge_job_id = @merge_job_id AND m.merge_by = 'pull_request' AND m.decided_at IS NULL;

-- name: JobMergePullSave :exec
-- Notes the pull request of a merge.
UPDATE job_merge SET pull_url = @url, pull_number = @number, pull_branch = @branch
WHERE workspace_id = @workspace_id AND merge_job_id = @merge_job_id;

-- name: LeaseHoldSlot :exec
-- Locks a lease against whoever gives its job the slot of its repo, until this transaction ends.
SELECT 1 FROM job_lease l WHERE l.workspace_id = @workspace_id AND l.job_id = @job_id FOR UPDATE;

-- name: LeaseFollow :execrows
-- Takes a lease off its seat, unless its agent follows as many pull requests as it may. The
-- agent is locked.
UPDATE job_lease l SET follows = true
WHERE l.workspace_id = @workspace_id AND l.job_id = @job_id AND l.epoch = @epoch AND (l.follows OR
    (SELECT count(*) FROM job_lease o WHERE o.workspace_id = @workspace_id AND o.agent_id = @agent_id AND o.follows) < @most::int);
