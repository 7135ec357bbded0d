-- What people see of verifications.

-- name: VerificationList :many
-- The verifications of a job, the newest first, each with whoever works on it or did last, with what it has
-- cost, and with how often verifiers had sent the work back before.
SELECT own.key, own.status, own.lane_id, own.last_error, p.verify_rounds, m.epoch, m.commit, m.branch, m.verdict, m.criteria, m.findings, m.sent_back,
    m.created_at, m.decided_at, coalesce(a.agent, '')::text AS agent, coalesce(a.factory, '')::text AS factory,
    coalesce(a.model, '')::text AS model, a.claimed_at,
    (SELECT count(*) FROM job_verify b WHERE b.workspace_id = m.workspace_id AND b.job_id = m.job_id AND b.epoch < m.epoch
        AND b.sent_back)::int AS rounds_before,
    (SELECT least(coalesce(sum(x.charged_nanos::numeric), 0), 9223372036854775807) FROM job_usage x
        WHERE x.workspace_id = m.workspace_id AND x.job_id = m.verify_job_id)::bigint AS charged_nanos
FROM (
    SELECT v.* FROM job_verify v WHERE v.workspace_id = @workspace_id AND v.job_id = @job_id::uuid AND v.epoch < @before_epoch::bigint
    ORDER BY v.epoch DESC LIMIT @max_rows
) m
JOIN job own ON own.workspace_id = m.workspace_id AND own.id = m.verify_job_id
JOIN product p ON p.workspace_id = own.workspace_id AND p.id = own.product_id
LEFT JOIN attempt a ON a.workspace_id = m.workspace_id AND a.job_id = m.verify_job_id AND a.epoch = (
    SELECT max(t.epoch) FROM attempt t WHERE t.workspace_id = m.workspace_id AND t.job_id = m.verify_job_id)
ORDER BY m.epoch DESC;

-- name: VerificationsNow :many
-- The verifications of what jobs were handed in with last, as far as there are any, each with whoever works
-- on it or gave its verdict, with how often verifiers had sent the work back before, and with what all
-- verifications of the job have cost.
SELECT m.job_id::uuid AS job_id, own.key, own.status, own.lane_id, own.last_error, p.verify_rounds, m.verdict, m.agent AS said_by, m.created_at, m.decided_at,
    coalesce(l.agent, '')::text AS agent, coalesce(l.factory, '')::text AS factory, l.claimed_at,
    (SELECT count(*) FROM job_verify b WHERE b.workspace_id = m.workspace_id AND b.job_id = m.job_id AND b.epoch < m.epoch
        AND b.sent_back)::int AS rounds_before,
    jsonb_array_length(m.criteria)::int AS criteria,
    (SELECT count(*) FROM jsonb_array_elements(m.criteria) c WHERE c ->> 'met' = 'yes')::int AS criteria_met,
    (SELECT least(coalesce(sum(x.charged_nanos::numeric), 0), 9223372036854775807) FROM job_verify b
        JOIN job_usage x ON x.workspace_id = b.workspace_id AND x.job_id = b.verify_job_id
        WHERE b.workspace_id = m.workspace_id AND b.job_id = m.job_id)::bigint AS charged_nanos
FROM (SELECT unnest(@job_ids::uuid[]) AS id, unnest(@epochs::bigint[]) AS epoch) asked
JOIN job_verify m ON m.workspace_id = @workspace_id AND m.job_id = asked.id AND m.epoch = asked.epoch
JOIN job own ON own.workspace_id = m.workspace_id AND own.id = m.verify_job_id
JOIN product p ON p.workspace_id = own.workspace_id AND p.id = own.product_id
LEFT JOIN job_lease l ON l.workspace_id = own.workspace_id AND l.job_id = own.id;

-- name: VerificationWork :many
-- The jobs whose work some jobs verify.
SELECT m.job_id::uuid AS job_id FROM job_verify m
WHERE m.workspace_id = @workspace_id AND m.verify_job_id = ANY(@verify_jobs::uuid[]) AND m.job_id IS NOT NULL;
