-- name: JobVerifyAuthors :many
-- Who has worked on a job so far, with the models that are known of each: the one that the agent
-- said when it claimed the job, and those that its usage names. An attempt of a model that nobody
-- knows has an empty one. Of attempts that were never begun none is told, but for the present one.
SELECT a.agent, lower(a.model)::text AS model, lower(CASE WHEN g.model = a.model THEN g.provider ELSE '' END)::text AS provider
FROM attempt a LEFT JOIN agent g ON g.workspace_id = a.workspace_id AND g.id = a.agent_id
WHERE a.workspace_id = @workspace_id AND a.job_id = @job_id AND (a.started_at IS NOT NULL OR a.epoch = @epoch::bigint)
    AND (a.model <> '' OR NOT EXISTS (SELECT FROM usage_entry e WHERE e.workspace_id = a.workspace_id AND e.job_id = a.job_id
        AND e.epoch = a.epoch))
UNION
SELECT a.agent, lower(e.model)::text, lower(e.provider)::text
FROM attempt a JOIN usage_entry e ON e.workspace_id = a.workspace_id AND e.job_id = a.job_id AND e.epoch = a.epoch
WHERE a.workspace_id = @workspace_id AND a.job_id = @job_id AND (a.started_at IS NOT NULL OR a.epoch = @epoch::bigint)
ORDER BY 1, 2, 3;

-- name: JobVerifyInsert :exec
-- Notes what a job verifies.
INSERT INTO job_verify (workspace_id, verify_job_id, job_id, epoch, commit, branch, acceptance, diff_blob, distinct_by)
VALUES (@workspace_id, @verify_job_id, @job_id::uuid, @epoch, @commit, @branch, @acceptance, @diff_blob, @distinct_by);

-- name: JobVerifyOrders :many
-- What jobs are to verify: exactly what was handed in and still waits for a decision, in the repo and the
-- product that it was handed in for. A job without a row has no order.
SELECT m.verify_job_id, j.key, j.title, t.body, m.epoch, m.commit, m.branch, m.acceptance, m.diff_blob,
    p.merge_into, p.merge_checks
FROM (SELECT unnest(@verify_job_ids::uuid[]) AS id) asked
JOIN job_verify m ON m.workspace_id = @workspace_id AND m.verify_job_id = asked.id
JOIN job own ON own.workspace_id = m.workspace_id AND own.id = m.verify_job_id
JOIN job j ON j.workspace_id = m.workspace_id AND j.id = m.job_id
JOIN product p ON p.workspace_id = j.workspace_id AND p.id = j.product_id
JOIN job_text t ON t.workspace_id = j.workspace_id AND t.job_id = j.id
WHERE m.decided_at IS NULL AND j.status = 'in_review' AND j.epoch = m.epoch AND own.repo = j.repo AND own.product_id = j.product_id;

-- name: JobVerifyWorkspaces :many
-- Where verifications are open. For the system role.
SELECT DISTINCT workspace_id FROM job_verify WHERE decided_at IS NULL;

-- name: JobVerifyEnding :many
-- Open verifications about which something is to be done: the verify job has ended, or what it verifies
-- does not wait for a decision any more, or is other work by now; not those whose agents were asked to
-- stop.
SELECT m.verify_job_id, own.key AS verify_key, own.status AS verify_status, coalesce(j.key, '')::text AS key
FROM job_verify m
JOIN job own ON own.workspace_id = m.workspace_id AND own.id = m.verify_job_id
LEFT JOIN job j ON j.workspace_id = m.workspace_id AND j.id = m.job_id
WHERE m.workspace_id = @workspace_id AND m.decided_at IS NULL
    AND (own.status IN ('completed', 'failed', 'aborted', 'archived') OR j.status IS DISTINCT FROM 'in_review' OR j.epoch <> m.epoch
        OR own.repo <> j.repo OR own.product_id <> j.product_id)
    AND NOT EXISTS (SELECT 1 FROM job_lease l WHERE l.workspace_id = m.workspace_id AND l.job_id = m.verify_job_id AND l.directive = 'cancel')
ORDER BY m.verify_job_id LIMIT @max_rows;

-- name: JobVerifyDecide :exec
UPDATE job_verify SET decided_at = now() WHERE workspace_id = @workspace_id AND verify_job_id = @verify_job_id AND decided_at IS NULL;

-- name: JobVerifyCost :one
-- What the verifications of a job have used, of all its attempts.
SELECT least(coalesce(sum(x.charged_nanos::numeric), 0), 9223372036854775807)::bigint AS charged_nanos,
    coalesce(sum(x.input_tokens + x.output_tokens + x.cache_read_tokens + x.cache_write_tokens + x.cache_write_1h_tokens), 0)::bigint AS tokens
FROM job_verify m JOIN job_usage x ON x.workspace_id = m.workspace_id AND x.job_id = m.verify_job_id
WHERE m.workspace_id = @workspace_id AND m.job_id = @job_id::uuid;

-- name: JobVerifyOf :many
-- What a job verifies, and how often verifiers have sent that back so far.
SELECT m.job_id, m.epoch, m.commit, m.acceptance, (m.decided_at IS NOT NULL)::boolean AS is_decided,
    ((SELECT count(*) FROM job_verify b WHERE b.workspace_id = m.workspace_id AND b.job_id = m.job_id AND b.sent_back)
        + (SELECT count(*) FROM job_merge g WHERE g.workspace_id = m.workspace_id AND g.job_id = m.job_id AND g.sent_back))::int AS rounds
FROM job_verify m WHERE m.workspace_id = @workspace_id AND m.verify_job_id = @verify_job_id;

-- name: JobVerdictOfCommit :one
-- Whether a commit of a job has its verdict.
SELECT EXISTS (SELECT FROM job_verify m WHERE m.workspace_id = @workspace_id AND m.job_id = @job_id::uuid AND m.commit = @commit
    AND m.verdict <> '')::boolean;

-- name: JobVerdictSave :execrows
-- Writes the verdict of a verification that is open. No row: it is not, or the commit has one.
UPDATE job_verify m SET verdict = @verdict, criteria = @criteria, findings = @findings, agent = @agent, sent_back = @sent_back,
    decided_at = now()
WHERE m.workspace_id = @workspace_id AND m.verify_job_id = @verify_job_id AND m.decided_at IS NULL
    AND NOT EXISTS (SELECT FROM job_verify o WHERE o.workspace_id = m.workspace_id AND o.job_id = m.job_id AND o.commit = m.commit
        AND o.verdict <> '');

-- name: JobPolicyHeld :many
-- Why the policy leaves work to a person that was handed in at a time or later; no row where it does not.
SELECT e.at, coalesce(e.payload ->> 'reason', '')::text AS reason FROM event e
WHERE e.workspace_id = @workspace_id AND e.job_id = @job_id::uuid AND e.type = 'job.policy_held' AND e.at >= @since
ORDER BY e.id DESC LIMIT 1;

-- name: JobSpokenAbout :one
-- Whether people have sent work of a job back, or asked for more of it.
SELECT coalesce((SELECT true FROM event e WHERE e.workspace_id = @workspace_id AND e.job_id = @job_id::uuid
    AND e.type IN ('job.rejected', 'job.retried') AND e.actor_kind = 'person' AND e.payload ? 'reason' LIMIT 1), false)::boolean;
