-- name: SlotList :many
-- Whose slots these repos' are, and for which files: NULL is the whole repo. A slot that
-- is being given up at this moment still shows.
SELECT s.repo, s.job_id, j.status, j.priority, s.files FROM repo_slot s
JOIN job j ON j.workspace_id = s.workspace_id AND j.id = s.job_id
WHERE s.workspace_id = @workspace_id AND s.repo = ANY(@repos::text[]);

-- name: SlotLock :many
-- Those of the repos whose slots nobody else is taking. It never waits: whoever
-- takes a slot holds the lock of a job, which others wait for.
SELECT r.repo::text AS repo FROM unnest(@repos::text[]) AS r(repo)
WHERE pg_try_advisory_xact_lock(hashtextextended('slot:' || @workspace::text || ':' || r.repo, 0));

-- name: SlotInsert :execrows
-- Takes free slots; those of the repos that are locked by SlotLock never conflict.
-- Each is a JSON object; one that the job has already is taken as this one.
INSERT INTO repo_slot (workspace_id, repo, job_id, files)
SELECT @workspace_id, s.s ->> 'repo', (s.s ->> 'job')::uuid,
    CASE WHEN jsonb_typeof(s.s -> 'files') = 'array' THEN ARRAY(SELECT jsonb_array_elements_text(s.s -> 'files')) END
FROM (SELECT jsonb_array_elements(@slots::jsonb) AS s) s
ON CONFLICT (workspace_id, job_id) DO UPDATE SET repo = excluded.repo, files = excluded.files;

-- name: SlotFiles :exec
-- Says for which files a job has its slot, if it has one.
UPDATE repo_slot SET files = @files::text[] WHERE workspace_id = @workspace_id AND job_id = @job_id AND files IS NOT NULL;

-- name: SlotYield :many
-- Locks the job that has a slot, where it is ready, less urgent, and neither
-- claimed nor changed at this moment. The ready row comes first, as in a claim.
SELECT r.job_id FROM job_ready r JOIN job j ON j.workspace_id = r.workspace_id AND j.id = r.job_id
WHERE r.workspace_id = @workspace_id AND r.job_id = @job_id AND j.status = 'ready' AND j.priority < @priority
FOR UPDATE OF r SKIP LOCKED FOR NO KEY UPDATE OF j SKIP LOCKED;

-- name: SlotClear :exec
-- Gives up the slots of a product, before it begins to share repos in another way. One
-- that is being given up anyway is left to whoever does it.
DELETE FROM repo_slot o WHERE o.workspace_id = @workspace_id AND o.job_id = ANY(ARRAY(
    SELECT s.job_id FROM repo_slot s JOIN job j ON j.workspace_id = s.workspace_id AND j.id = s.job_id
    WHERE s.workspace_id = @workspace_id AND j.product_id = @product_id
    FOR UPDATE OF s SKIP LOCKED));

-- name: SlotWorked :many
-- The jobs of a product that are worked on in a repo. Their leases cannot end
-- until the transaction does: a slot given to a job that has just left it would be
-- nobody's to give up.
SELECT j.repo, j.id, j.files FROM job_lease l
JOIN job j ON j.workspace_id = l.workspace_id AND j.id = l.job_id
WHERE l.workspace_id = @workspace_id AND j.product_id = @product_id AND j.repo <> '' AND NOT l.follows AND j.kind <> 'verify'
ORDER BY l.claimed_at FOR KEY SHARE OF l SKIP LOCKED;

-- name: SlotSurplus :many
-- Ready jobs that are to have a slot and have none, the most urgent first: what
-- was ready when a product began to serialise. The lanes of such
-- products are found first: where there are none, no job is looked at.
SELECT r.job_id FROM job_ready r
WHERE r.workspace_id = @workspace_id
    AND r.lane_id = ANY(ARRAY(SELECT l.id FROM product p JOIN lane l ON l.workspace_id = p.workspace_id AND l.product_id = p.id
        WHERE p.workspace_id = @workspace_id AND p.serialise <> 'none'))
    AND (SELECT j.repo <> '' AND j.kind <> 'verify' FROM job j WHERE j.workspace_id = @workspace_id AND j.id = r.job_id)
    AND (SELECT s.job_id FROM repo_slot s WHERE s.workspace_id = @workspace_id AND s.job_id = r.job_id) IS NULL
ORDER BY r.priority DESC, r.place, r.tie_break LIMIT @max_rows;

-- name: InReviewCount :one
-- How many jobs of a product are in review, counted up to its limit.
SELECT count(*)::int FROM (
    SELECT 1 FROM job j
    WHERE j.workspace_id = @workspace_id AND j.product_id = @product_id AND j.status = 'in_review'
    LIMIT @max_rows
) capped;

-- name: HeldByRepo :many
-- The most urgent job that waits for a repo.
SELECT j.id FROM job j
WHERE j.workspace_id = @workspace_id AND j.repo = @repo AND j.status = 'waiting' AND j.wait_reason = 'repo_busy'
ORDER BY j.priority DESC, j.status_at, j.id LIMIT 1;

-- name: HeldPaths :many
-- What waits in these repos for a path, or for the whole of one: of each repo the most
-- urgent of either, at most max_rows, each in the order in which they come next.
SELECT w.id, w.key, w.repo, w.files, w.priority, w.wait_reason, w.status_at FROM unnest(@repos::text[]) AS r(repo)
CROSS JOIN LATERAL (
    (SELECT j.id, j.key, j.repo, j.files, j.priority, j.wait_reason, j.status_at FROM job j
    WHERE j.workspace_id = @workspace_id AND j.repo = r.repo AND j.status = 'waiting' AND j.wait_reason = 'paths_busy'
    ORDER BY j.priority DESC, j.status_at, j.id LIMIT @max_rows)
    UNION ALL
    (SELECT j.id, j.key, j.repo, j.files, j.priority, j.wait_reason, j.status_at FROM job j
    WHERE j.workspace_id = @workspace_id AND j.repo = r.repo AND j.status = 'waiting' AND j.wait_reason = 'repo_busy'
    ORDER BY j.priority DESC, j.status_at, j.id LIMIT @max_rows)
) w;

-- name: HeldPathRepos :many
-- The repos of which jobs wait for a path, found by skipping from one to the next.
WITH RECURSIVE busy AS (
    (SELECT j.repo FROM job j
    WHERE j.workspace_id = @workspace_id AND j.status = 'waiting' AND j.wait_reason = 'paths_busy'
    ORDER BY j.repo LIMIT 1)
    UNION ALL
    SELECT (SELECT j.repo FROM job j
        WHERE j.workspace_id = @workspace_id AND j.status = 'waiting' AND j.wait_reason = 'paths_busy' AND j.repo > b.repo
        ORDER BY j.repo LIMIT 1)
    FROM busy b WHERE b.repo IS NOT NULL
)
SELECT b.repo::text AS repo FROM busy b WHERE b.repo IS NOT NULL;

-- name: HeldByReview :many
-- The most urgent jobs that wait for a place in a product's review queue.
SELECT j.id FROM job j
WHERE j.workspace_id = @workspace_id AND j.product_id = @product_id
    AND j.status = 'waiting' AND j.wait_reason = 'review_backlog'
ORDER BY j.priority DESC, j.status_at, j.id LIMIT @max_rows;

-- name: HeldFreed :many
-- Held jobs whose reason is gone, the most urgent first. The repos that jobs wait
-- for are found by skipping from one to the next; each is asked for its head only.
WITH RECURSIVE busy AS (
    (SELECT j.repo FROM job j
    WHERE j.workspace_id = @workspace_id AND j.status = 'waiting' AND j.wait_reason = 'repo_busy'
    ORDER BY j.repo LIMIT 1)
    UNION ALL
    SELECT (SELECT j.repo FROM job j
        WHERE j.workspace_id = @workspace_id AND j.status = 'waiting' AND j.wait_reason = 'repo_busy' AND j.repo > b.repo
        ORDER BY j.repo LIMIT 1)
    FROM busy b WHERE b.repo IS NOT NULL
), freed AS (
    SELECT h.id, h.priority, h.status_at FROM busy b
    CROSS JOIN LATERAL (
        SELECT j.id, j.priority, j.status_at FROM job j
        WHERE j.workspace_id = @workspace_id AND j.repo = b.repo AND j.status = 'waiting' AND j.wait_reason = 'repo_busy'
        ORDER BY j.priority DESC, j.status_at, j.id LIMIT 1
    ) h
    WHERE NOT EXISTS (
        SELECT 1 FROM repo_slot s JOIN job o ON o.workspace_id = s.workspace_id AND o.id = s.job_id
        WHERE s.workspace_id = @workspace_id AND s.repo = b.repo AND NOT (o.status = 'ready' AND o.priority < h.priority))
    UNION
    SELECT h.id, h.priority, h.status_at FROM product p
    CROSS JOIN (VALUES ('repo_busy'), ('review_backlog'), ('paths_busy')) AS w(reason)
    CROSS JOIN LATERAL (
        -- The reason twice, so that only job_held_product serves.
        SELECT j.id, j.priority, j.status_at FROM job j
        WHERE j.workspace_id = @workspace_id AND j.product_id = p.id AND j.status = 'waiting'
            AND j.wait_reason = w.reason AND j.wait_reason IN ('repo_busy', 'review_backlog', 'paths_busy')
        ORDER BY j.priority DESC, j.status_at, j.id LIMIT @max_rows
    ) h
    WHERE p.workspace_id = @workspace_id AND CASE w.reason
        WHEN 'repo_busy' THEN p.serialise <> 'repo'
        WHEN 'paths_busy' THEN p.serialise <> 'paths'
        ELSE p.review_limit IS NULL OR p.review_limit > (
            SELECT count(*) FROM (SELECT 1 FROM job r
                WHERE r.workspace_id = @workspace_id AND r.product_id = p.id AND r.status = 'in_review'
                LIMIT p.review_limit) capped)
        END
)
SELECT f.id FROM freed f ORDER BY f.priority DESC, f.status_at, f.id LIMIT @max_rows;

-- name: SlotLeave :execrows
-- Gives up a job's slot while the job goes on.
DELETE FROM repo_slot WHERE workspace_id = @workspace_id AND job_id = @job_id;

-- name: SlotWorkers :many
-- The keys of jobs, and the agents that work on them, if any.
SELECT j.id, j.key, coalesce(l.agent, '')::text AS agent FROM job j
LEFT JOIN job_lease l ON l.workspace_id = j.workspace_id AND l.job_id = j.id
WHERE j.workspace_id = @workspace_id AND j.id = ANY(@ids::uuid[]);
