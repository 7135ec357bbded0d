-- name: AutoApproveList :many
-- What was handed in for a review in a product within some days, the newest first, of jobs that changed last. Of
-- more jobs than max_jobs it does not ask.
WITH recent AS (
    SELECT o.id, o.product_id, o.kind, o.review_required, o.updated_at FROM job o
    WHERE o.workspace_id = @workspace_id AND o.updated_at >= now() - make_interval(days => @days::int)
    ORDER BY o.updated_at DESC, o.id DESC LIMIT @max_jobs::int
), reviewed AS (
    SELECT r.id FROM recent r JOIN product p ON p.workspace_id = @workspace_id AND p.id = r.product_id
    WHERE r.product_id = @product_id::uuid AND r.kind NOT IN ('merge', 'verify') AND coalesce(r.review_required, p.review_required)
    ORDER BY r.updated_at DESC, r.id DESC LIMIT @max_rows::int
)
SELECT a.job_id, a.epoch, a.ended_at::timestamptz AS at FROM reviewed v
JOIN attempt a ON a.workspace_id = @workspace_id AND a.job_id = v.id
WHERE a.outcome IN ('completed', 'rejected') AND a.ended_at >= now() - make_interval(days => @days::int)
ORDER BY a.ended_at DESC, a.job_id, a.epoch LIMIT @max_rows::int;

-- name: AutoApproveFacts :many
-- What is known of some of that: what its author and its verifier said, where that is not too long, and what
-- came of it, by the policy or by a person. Whether people had sent the job back or asked for more of it before is
-- among it, by the rule of JobSpokenAbout.
SELECT j.key, j.title, a.epoch, a.outcome, a.ended_at::timestamptz AS at, coalesce(j.review_required, false)::boolean AS wants_person,
    coalesce(CASE WHEN octet_length(a.result::text) <= @max_bytes::int THEN a.result END, '{}')::jsonb AS result,
    (octet_length(coalesce(a.result, '{}')::text) > @max_bytes::int)::boolean AS is_long,
    coalesce(m.verdict, '')::text AS verdict, coalesce(m.agent, '')::text AS said_by,
    coalesce(CASE WHEN m.verdict <> '' AND octet_length(own.result::text) <= @max_bytes::int THEN own.result END, '{}')::jsonb AS said,
    coalesce(a.outcome = 'rejected' AND (SELECT e.actor_kind <> 'person' FROM event e WHERE e.workspace_id = a.workspace_id AND e.job_id = a.job_id
        AND e.type = 'job.rejected' AND e.at >= a.ended_at ORDER BY e.id LIMIT 1), false)::boolean AS sent_back, (j.status = 'in_review' AND j.epoch = a.epoch)::boolean AS is_open,
    coalesce((SELECT true FROM event e WHERE e.workspace_id = a.workspace_id AND e.job_id = a.job_id AND e.at < a.ended_at
        AND e.type IN ('job.rejected', 'job.retried') AND e.actor_kind = 'person' AND e.payload ? 'reason' LIMIT 1), false)::boolean AS spoken_about
FROM (SELECT unnest(@job_ids::uuid[]) AS job_id, unnest(@epochs::bigint[]) AS epoch) asked
JOIN attempt a ON a.workspace_id = @workspace_id AND a.job_id = asked.job_id AND a.epoch = asked.epoch
JOIN job j ON j.workspace_id = a.workspace_id AND j.id = a.job_id
LEFT JOIN job_verify m ON m.workspace_id = a.workspace_id AND m.job_id = a.job_id AND m.epoch = a.epoch
LEFT JOIN job own ON own.workspace_id = m.workspace_id AND own.id = m.verify_job_id
ORDER BY a.ended_at DESC, a.job_id, a.epoch;
