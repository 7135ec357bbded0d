-- name: JobSecretInsert :exec
-- Adds values in the order of the arrays, which are equally long.
INSERT INTO job_secret (workspace_id, job_id, name, key_id, sealed)
SELECT @workspace_id, unnest(@job_ids::uuid[]), unnest(@names::text[]), @key_id, unnest(@sealed::bytea[]);

-- name: JobSecretOfJobs :many
SELECT job_id, name, key_id, sealed FROM job_secret
WHERE workspace_id = @workspace_id AND job_id = ANY(@job_ids::uuid[]);

-- name: JobSecretHeld :many
-- The secrets of jobs on which these agents have a lease, or agents for one of these
-- factories.
WITH held AS MATERIALIZED (
    SELECT l.job_id, l.agent_id FROM job_lease l WHERE l.workspace_id = @workspace_id AND l.agent_id = ANY(@agents::uuid[])
    UNION SELECT l.job_id, l.agent_id FROM job_lease l WHERE l.workspace_id = @workspace_id AND l.factory_id = ANY(@factories::uuid[])
)
SELECT h.agent_id, s.job_id, s.name, s.key_id, s.sealed FROM held h
JOIN job_secret s ON s.workspace_id = @workspace_id AND s.job_id = h.job_id;

-- name: JobSecretPage :many
-- Values that a key has sealed, after a place.
SELECT job_id, name, sealed FROM job_secret
WHERE workspace_id = @workspace_id AND key_id = @key_id AND (job_id, name) > (@after_job::uuid, @after_name::text)
ORDER BY workspace_id, key_id, job_id, name LIMIT @max_rows;

-- name: JobSecretReseal :execrows
-- Replaces values that are still as they were read.
UPDATE job_secret s SET key_id = @key_id, sealed = n.sealed
FROM (SELECT unnest(@job_ids::uuid[]) AS job_id, unnest(@names::text[]) AS name,
    unnest(@old_sealed::bytea[]) AS old_sealed, unnest(@sealed::bytea[]) AS sealed) n
WHERE s.workspace_id = @workspace_id AND s.job_id = n.job_id AND s.name = n.name
    AND s.key_id = @old_key_id AND s.sealed = n.old_sealed;

-- name: JobSecretLeft :many
-- A row where a key still has a value, also one of a blob or a webhook.
(SELECT 1::int AS one FROM job_secret s WHERE s.workspace_id = @workspace_id AND s.key_id = @key_id LIMIT 1)
UNION ALL (SELECT 1::int FROM blob_data d WHERE d.workspace_id = @workspace_id AND d.key_id = @key_id LIMIT 1)
UNION ALL (SELECT 1::int FROM webhook w WHERE w.workspace_id = @workspace_id AND (w.key_id = @key_id OR w.old_key_id = @key_id) LIMIT 1);
