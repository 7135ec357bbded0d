-- name: RankAnchor :one
-- Where a job stands that another one is to come before or after: as it is ready, or as a person has
-- ranked it.
SELECT j.id, j.key, j.product_id, p.name AS product, coalesce(r.priority, j.priority)::int AS priority,
    (coalesce(r.tie_break, k.rank) IS NOT NULL)::boolean AS has_place, coalesce(r.place, k.place, j.created_at)::timestamptz AS place,
    coalesce(r.tie_break, k.rank, '')::bytea AS tie_break
FROM job j JOIN product p ON p.workspace_id = j.workspace_id AND p.id = j.product_id
LEFT JOIN job_ready r ON r.workspace_id = j.workspace_id AND r.job_id = j.id
LEFT JOIN job_rank k ON k.workspace_id = j.workspace_id AND k.job_id = j.id
WHERE j.workspace_id = @workspace_id AND j.id = @id;

-- name: RankBefore :many
-- The last of what stands at a place before a rank, but for one job: ready jobs as urgent, and what
-- has been ranked; no row where there is none.
SELECT o.tie_break::bytea AS tie_break FROM (
    (SELECT r.tie_break FROM job_ready r
    WHERE r.workspace_id = @workspace_id AND r.level = (10 - @priority::int)::smallint AND r.place = @place AND r.tie_break < @rank
        AND r.job_id <> @job_id
    ORDER BY r.tie_break DESC LIMIT 1)
    UNION ALL
    (SELECT k.rank FROM job_rank k
    WHERE k.workspace_id = @workspace_id AND k.place = @place AND k.rank < @rank AND k.job_id <> @job_id
    ORDER BY k.rank DESC LIMIT 1)
) o ORDER BY o.tie_break DESC LIMIT 1;

-- name: RankAfter :many
-- The first of what stands at a place after a rank, like RankBefore.
SELECT o.tie_break::bytea AS tie_break FROM (
    (SELECT r.tie_break FROM job_ready r
    WHERE r.workspace_id = @workspace_id AND r.level = (10 - @priority::int)::smallint AND r.place = @place AND r.tie_break > @rank
        AND r.job_id <> @job_id
    ORDER BY r.tie_break LIMIT 1)
    UNION ALL
    (SELECT k.rank FROM job_rank k
    WHERE k.workspace_id = @workspace_id AND k.place = @place AND k.rank > @rank AND k.job_id <> @job_id
    ORDER BY k.rank LIMIT 1)
) o ORDER BY o.tie_break LIMIT 1;

-- name: RankNeighbours :one
-- Of the ready jobs of a product that are as urgent as one of them: the first, the one right before that
-- job and the one right after it, in the order of claims. The job itself stands for one
-- that there is not. The top of each lane is looked at.
WITH own AS MATERIALIZED (
    SELECT r.priority, r.place, r.tie_break FROM job_ready r WHERE r.workspace_id = @workspace_id AND r.job_id = @job_id
), lanes AS MATERIALIZED (
    SELECT l.id FROM lane l WHERE l.workspace_id = @workspace_id AND l.product_id = @product_id
)
SELECT coalesce((SELECT h.job_id FROM lanes CROSS JOIN own o CROSS JOIN LATERAL (
        SELECT r.job_id, r.place, r.tie_break FROM job_ready r
        WHERE r.workspace_id = @workspace_id AND r.lane_id = lanes.id AND r.priority = o.priority
        ORDER BY r.place, r.tie_break LIMIT 1) h ORDER BY h.place, h.tie_break LIMIT 1), @job_id)::uuid AS first,
    coalesce((SELECT h.job_id FROM lanes CROSS JOIN own o CROSS JOIN LATERAL (
        SELECT r.job_id, r.place, r.tie_break FROM job_ready r
        WHERE r.workspace_id = @workspace_id AND r.lane_id = lanes.id AND r.priority = o.priority
            AND (r.place, r.tie_break) < (o.place, o.tie_break)
        ORDER BY r.place DESC, r.tie_break DESC LIMIT 1) h ORDER BY h.place DESC, h.tie_break DESC LIMIT 1), @job_id)::uuid AS before,
    coalesce((SELECT h.job_id FROM lanes CROSS JOIN own o CROSS JOIN LATERAL (
        SELECT r.job_id, r.place, r.tie_break FROM job_ready r
        WHERE r.workspace_id = @workspace_id AND r.lane_id = lanes.id AND r.priority = o.priority
            AND (r.place, r.tie_break) > (o.place, o.tie_break)
        ORDER BY r.place, r.tie_break LIMIT 1) h ORDER BY h.place, h.tie_break LIMIT 1), @job_id)::uuid AS after;

-- name: RankOfJob :many
-- Where a person has ranked a job; no row where nobody has.
SELECT place, rank FROM job_rank WHERE workspace_id = @workspace_id AND job_id = @job_id;

-- name: RankSave :one
-- Writes where a locked job is ranked, or, where place is null, that it is not; the job's version and
-- the event with it. Without a rank it stands where it would if it had waited without one.
WITH saved AS (
    UPDATE job SET version = version + 1, updated_at = now() WHERE job.workspace_id = @workspace_id AND job.id = @job_id
    RETURNING job.version, job.updated_at, job.priority, job.epoch, CASE WHEN sqlc.narg('place')::timestamptz IS NULL
        THEN estimate_delay((SELECT d.short_jobs_first FROM dispatch_setting d WHERE d.workspace_id = @workspace_id), job.estimated_minutes)
        ELSE 0 END::smallint AS delay
), kept AS (
    INSERT INTO job_rank (workspace_id, job_id, place, rank)
    SELECT @workspace_id, @job_id, n.place, n.rank
    FROM (SELECT sqlc.narg('place')::timestamptz AS place, sqlc.narg('rank')::bytea AS rank) n WHERE n.place IS NOT NULL
    ON CONFLICT (workspace_id, job_id) DO UPDATE SET place = excluded.place, rank = excluded.rank
), cleared AS (
    DELETE FROM job_rank k WHERE k.workspace_id = @workspace_id AND k.job_id = @job_id AND sqlc.narg('place')::timestamptz IS NULL
), queued AS (
    UPDATE job_ready r SET place = coalesce(sqlc.narg('place')::timestamptz, r.ready_at + make_interval(mins => s.delay)),
        delay_minutes = s.delay, rank = sqlc.narg('rank')::bytea,
        priority = CASE WHEN sqlc.narg('place')::timestamptz IS NULL THEN s.priority ELSE r.priority END,
        raised = CASE WHEN sqlc.narg('place')::timestamptz IS NULL THEN 0 ELSE r.raised END
    FROM saved s WHERE r.workspace_id = @workspace_id AND r.job_id = @job_id
), logged AS (
    INSERT INTO event (workspace_id, type, job_id, actor, actor_kind, actor_id, epoch, saved_at, changes, payload)
    SELECT @workspace_id, @event_type, @job_id, @actor, @actor_kind, @actor_id, nullif(s.epoch, 0), now(), '[]', @payload FROM saved s
)
SELECT version, updated_at FROM saved;
