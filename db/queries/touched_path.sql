-- name: TouchLock :exec
-- Keeps what jobs touch in these repos, and the ends of leases that touch something there, apart until
-- the transaction ends. The locks are taken in one order.
SELECT pg_advisory_xact_lock(hashtextextended('touch:' || @workspace::text || ':' || r.repo, 0))
FROM (SELECT DISTINCT u.repo FROM unnest(@repos::text[]) AS u(repo) ORDER BY u.repo) r;

-- name: TouchLease :one
-- The live lease under which an agent touches files, and its job.
SELECT j.id, j.key, j.product_id, j.repo,
    EXISTS (SELECT FROM job_secret s WHERE s.workspace_id = j.workspace_id AND s.job_id = j.id) AS has_secrets
FROM job j JOIN job_lease l ON l.workspace_id = j.workspace_id AND l.job_id = j.id
WHERE j.workspace_id = @workspace_id AND (j.key = @key::text OR j.id = sqlc.narg('id')::uuid)
    AND l.epoch = @epoch::bigint AND l.agent_id = @agent_id::uuid AND l.expires_at > clock_timestamp();

-- name: TouchForget :exec
-- Deletes what an earlier lease of the job, or one on another repo, has touched.
DELETE FROM touched_path t WHERE t.workspace_id = @workspace_id AND t.job_id = @job_id AND (t.epoch <> @epoch OR t.repo <> @repo);

-- name: TouchKnown :many
-- Which of these files a job touches already.
SELECT t.path FROM touched_path t
WHERE t.workspace_id = @workspace_id AND t.job_id = @job_id AND t.path = ANY(@paths::text[]);

-- name: TouchInsert :exec
-- Adds files that a job touches, none of which it has yet.
INSERT INTO touched_path (workspace_id, job_id, epoch, repo, path)
SELECT @workspace_id, @job_id, @epoch::bigint, @repo::text, unnest(@paths::text[]);

-- name: TouchOthers :many
-- Who else touches one of these paths of a repo while it is worked on, at most max_others of each path.
SELECT o.job_id, o.epoch, j.key, j.product_id, o.path FROM unnest(@paths::text[]) AS p(path)
CROSS JOIN LATERAL (
    SELECT t.job_id, t.epoch, t.path FROM touched_path t
    WHERE t.workspace_id = @workspace_id AND t.repo = @repo AND t.path = p.path AND t.job_id <> @job_id
        AND (SELECT l.epoch FROM job_lease l WHERE l.workspace_id = @workspace_id AND l.job_id = t.job_id) = t.epoch
    ORDER BY t.path, t.job_id LIMIT @max_others
) o
JOIN job j ON j.workspace_id = @workspace_id AND j.id = o.job_id
ORDER BY o.job_id, o.path;

-- name: CollisionSave :many
-- Adds paths to what two jobs both touch, on the side of each: one row for each that has begun. No job
-- has more than max_others.
WITH said AS MATERIALIZED (
    SELECT (r.r ->> 'job')::uuid AS job_id, (r.r ->> 'epoch')::bigint AS epoch, (r.r ->> 'other')::uuid AS other_id,
        (r.r ->> 'other_epoch')::bigint AS other_epoch, ARRAY(SELECT jsonb_array_elements_text(r.r -> 'paths')) AS paths,
        (r.r ->> 'count')::int AS path_count
    FROM (SELECT jsonb_array_elements(@collisions::jsonb) AS r) r
), room AS MATERIALIZED (
    SELECT s.*, row_number() OVER (PARTITION BY s.job_id ORDER BY s.other_id)
        + (SELECT count(*) FROM job_collision h WHERE h.workspace_id = @workspace_id AND h.job_id = s.job_id) AS place,
        (SELECT k.epoch = s.epoch AND k.other_epoch = s.other_epoch FROM job_collision k
            WHERE k.workspace_id = @workspace_id AND k.job_id = s.job_id AND k.other_id = s.other_id) AS is_known
    FROM said s
), saved AS (
    INSERT INTO job_collision (workspace_id, job_id, epoch, other_id, other_epoch, paths, path_count)
    SELECT @workspace_id, r.job_id, r.epoch, r.other_id, r.other_epoch, r.paths, r.path_count FROM room r
    WHERE r.is_known IS NOT NULL OR r.place <= @max_others::int
    ON CONFLICT (workspace_id, job_id, other_id) DO UPDATE SET
        paths = CASE WHEN job_collision.epoch = excluded.epoch AND job_collision.other_epoch = excluded.other_epoch
            THEN (job_collision.paths || excluded.paths)[1:50] ELSE excluded.paths END,
        path_count = CASE WHEN job_collision.epoch = excluded.epoch AND job_collision.other_epoch = excluded.other_epoch
            THEN job_collision.path_count + excluded.path_count ELSE excluded.path_count END,
        since = CASE WHEN job_collision.epoch = excluded.epoch AND job_collision.other_epoch = excluded.other_epoch
            THEN job_collision.since ELSE excluded.since END,
        epoch = excluded.epoch, other_epoch = excluded.other_epoch
    RETURNING job_id, other_id
)
SELECT s.job_id, s.other_id FROM saved s JOIN room r ON r.job_id = s.job_id AND r.other_id = s.other_id WHERE r.is_known IS NOT TRUE;

-- name: TouchEnd :many
-- Deletes what jobs have touched whose leases end, and gives who collided with them.
WITH forgotten AS (
    DELETE FROM touched_path t WHERE t.workspace_id = @workspace_id AND t.job_id = ANY(@job_ids::uuid[])
), own AS (
    DELETE FROM job_collision c WHERE c.workspace_id = @workspace_id AND c.job_id = ANY(@job_ids::uuid[])
), theirs AS (
    DELETE FROM job_collision c WHERE c.workspace_id = @workspace_id AND c.other_id = ANY(@job_ids::uuid[])
        AND c.job_id <> ALL(@job_ids::uuid[])
    RETURNING c.job_id, c.epoch, c.other_id
)
SELECT t.job_id, t.epoch, t.other_id, j.product_id, o.key AS other_key, o.product_id AS other_product_id
FROM theirs t JOIN job j ON j.workspace_id = @workspace_id AND j.id = t.job_id
JOIN job o ON o.workspace_id = @workspace_id AND o.id = t.other_id
ORDER BY t.job_id, t.other_id;

-- name: CollisionList :many
-- What jobs that are worked on collide with, the oldest first, with at most so many of the paths.
SELECT c.job_id, o.key, p.name AS product, x.agent, x.factory, c.paths[1:@max_paths::int]::text[] AS paths, c.path_count, c.since
FROM job_collision c
JOIN job_lease l ON l.workspace_id = c.workspace_id AND l.job_id = c.job_id AND l.epoch = c.epoch
JOIN job_lease x ON x.workspace_id = c.workspace_id AND x.job_id = c.other_id AND x.epoch = c.other_epoch
JOIN job o ON o.workspace_id = c.workspace_id AND o.id = c.other_id
JOIN product p ON p.workspace_id = o.workspace_id AND p.id = o.product_id
WHERE c.workspace_id = @workspace_id AND c.job_id = ANY(@job_ids::uuid[])
ORDER BY c.job_id, c.since, o.key;

-- name: TouchCount :one
-- How many files a job touches, counted up to a limit.
SELECT count(*)::int FROM (
    SELECT 1 FROM touched_path t WHERE t.workspace_id = @workspace_id AND t.job_id = @job_id LIMIT @max_rows
) capped;
