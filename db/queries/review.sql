-- name: ReviewQueue :many
-- One page of the jobs in a status of the review, the oldest first, each with its
-- last attempt. A result that is stored in more than max_result bytes is left out:
-- a list shows a few numbers of it. The page is cut before anything is joined,
-- and the status is no constant: otherwise job_in_review would serve, and a sort.
SELECT j.id, j.key, j.title, j.repo, p.name AS product, j.priority, j.status, j.status_at, j.epoch, p.verify_mode,
    (CASE WHEN pg_column_size(j.result) <= @max_result::int THEN j.result END)::jsonb AS result,
    coalesce((SELECT a.agent FROM attempt a WHERE a.workspace_id = j.workspace_id AND a.job_id = j.id AND a.epoch <= j.epoch
        ORDER BY a.epoch DESC LIMIT 1), '')::text AS agent
FROM unnest(ARRAY[@status::text]) AS s(status)
CROSS JOIN LATERAL (
    SELECT o.* FROM job o
    WHERE o.workspace_id = @workspace_id AND o.status = s.status AND o.status IN ('in_review', 'approved')
        AND (o.status_at, o.id) > (@after_at::timestamptz, @after_id::uuid)
    ORDER BY o.status_at, o.id LIMIT @max_rows
) j
JOIN product p ON p.workspace_id = j.workspace_id AND p.id = j.product_id
ORDER BY j.status_at, j.id LIMIT @max_rows;

-- name: JobTalk :many
-- What agents and people last said to one another about a job, newest first.
SELECT e.id, e.type, e.actor, e.actor_kind, e.actor_id, e.at, e.payload, e.changes,
    coalesce((SELECT jsonb_object_agg(encode(c.sha256, 'hex'), c.body::jsonb) FROM event_content r
        JOIN content c ON c.workspace_id = r.workspace_id AND c.sha256 = r.sha256
        WHERE r.workspace_id = e.workspace_id AND r.event_id = e.id AND c.sha256 = ANY(ARRAY(
            SELECT decode(x ->> 'new_sha256', 'hex') FROM jsonb_array_elements(e.changes) x
            WHERE x ->> 'field' IN ('question', 'answer') AND x ->> 'new_sha256' IS NOT NULL))), '{}')::jsonb AS contents
FROM event e
WHERE e.workspace_id = @workspace_id AND e.job_id = @job_id::uuid
    AND (e.type IN ('job.asked', 'job.answered', 'job.rejected', 'job.merge_failed', 'job.policy_held')
        OR e.type = 'job.retried' AND e.payload ? 'reason')
ORDER BY e.id DESC LIMIT @max_rows;
