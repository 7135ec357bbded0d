-- name: NeedsList :many
-- What waits for a person, the oldest of each kind first. The first max_scan jobs
-- that are blocked are looked at for questions. The status in review is no constant:
-- otherwise job_in_review would serve, and a sort. Jobs of the system that failed wait for
-- nobody: what they were for does. Nor does work in review, as far as the first max_reviews are looked
-- at, while somebody verifies it or may: while its verify job is neither over nor ready in a lane that
-- nobody serves. Each is one look: a join would be hashed, from the whole tables.
SELECT n.kind::text AS kind, n.id::uuid AS id FROM (
    (SELECT 'question' AS kind, b.id, b.status_at AS since FROM (
        SELECT j.id, j.status_at, j.question, j.answer FROM job j
        WHERE j.workspace_id = @workspace_id AND j.status = 'blocked'
        ORDER BY j.priority DESC, j.status_at, j.id LIMIT @max_scan
    ) b WHERE b.question <> '' AND b.answer = '' ORDER BY b.status_at, b.id LIMIT @max_rows)
    UNION ALL
    (SELECT 'review', r.id, r.status_at FROM unnest(ARRAY[@in_review::text]) AS s(status)
    CROSS JOIN LATERAL (
        SELECT o.id, o.status_at FROM (
            SELECT j.id, j.status_at, j.epoch FROM job j
            WHERE j.workspace_id = @workspace_id AND j.status = s.status AND j.status IN ('in_review', 'approved')
            ORDER BY j.status_at, j.id LIMIT @max_reviews
        ) o WHERE NOT coalesce((
            SELECT (SELECT own.status NOT IN ('completed', 'failed', 'aborted', 'archived')
                    AND NOT (own.status = 'ready' AND own.lane_id = ANY(@verify_lanes::bigint[]))
                FROM job own WHERE own.workspace_id = m.workspace_id AND own.id = m.verify_job_id)
            FROM job_verify m WHERE m.workspace_id = @workspace_id AND m.job_id = o.id AND m.epoch = o.epoch), false)
        ORDER BY o.status_at, o.id LIMIT @max_rows
    ) r)
    UNION ALL
    (SELECT 'unroutable', u.job_id, u.ready_at FROM (
        SELECT c.job_id, c.ready_at FROM unnest(@lanes::bigint[]) AS l(lane_id)
        CROSS JOIN LATERAL (
            SELECT r.job_id, r.ready_at FROM job_ready r
            WHERE r.workspace_id = @workspace_id AND r.lane_id = l.lane_id
            ORDER BY r.priority DESC, r.place, r.tie_break LIMIT @max_scan
        ) c LIMIT @max_scan
    ) u ORDER BY u.ready_at, u.job_id LIMIT @max_rows)
    UNION ALL
    (SELECT 'failed', j.id, j.status_at FROM job j
    WHERE j.workspace_id = @workspace_id AND j.status = 'failed' AND j.kind NOT IN ('merge', 'verify')
    ORDER BY j.status_at, j.id LIMIT @max_rows)
) n ORDER BY n.since, n.id LIMIT @max_rows;

-- name: NeedsCount :one
-- How many jobs of each kind wait for a person, each counted up to a limit, by the rules of NeedsList.
SELECT
    (SELECT count(*) FROM (
        SELECT 1 FROM (
            SELECT j.question, j.answer FROM job j WHERE j.workspace_id = @workspace_id AND j.status = 'blocked'
            ORDER BY j.priority DESC, j.status_at, j.id LIMIT @max_scan
        ) b WHERE b.question <> '' AND b.answer = '' LIMIT @max_rows
    ) q)::int AS questions,
    (SELECT count(*) FROM (
        SELECT 1 FROM (
            SELECT j.id, j.epoch FROM job j WHERE j.workspace_id = @workspace_id AND j.status = 'in_review' LIMIT @max_reviews
        ) r WHERE NOT coalesce((
            SELECT (SELECT own.status NOT IN ('completed', 'failed', 'aborted', 'archived')
                    AND NOT (own.status = 'ready' AND own.lane_id = ANY(@verify_lanes::bigint[]))
                FROM job own WHERE own.workspace_id = m.workspace_id AND own.id = m.verify_job_id)
            FROM job_verify m WHERE m.workspace_id = @workspace_id AND m.job_id = r.id AND m.epoch = r.epoch), false)
        LIMIT @max_rows
    ) r)::int AS reviews,
    (SELECT count(*) FROM (
        SELECT 1 FROM unnest(@lanes::bigint[]) AS l(lane_id)
        CROSS JOIN LATERAL (
            SELECT 1 FROM job_ready r WHERE r.workspace_id = @workspace_id AND r.lane_id = l.lane_id
            ORDER BY r.priority DESC, r.place, r.tie_break LIMIT @max_rows
        ) c LIMIT @max_rows
    ) u)::int AS unroutable,
    (SELECT count(*) FROM (
        SELECT 1 FROM job j WHERE j.workspace_id = @workspace_id AND j.status = 'failed' AND j.kind NOT IN ('merge', 'verify')
        ORDER BY j.status_at, j.id LIMIT @max_rows
    ) f)::int AS failed;

-- name: NeedsQuestions :many
-- The jobs that wait for an answer, the most urgent first.
SELECT b.id FROM (
    SELECT j.id, j.question, j.answer, j.priority, j.status_at FROM job j
    WHERE j.workspace_id = @workspace_id AND j.status = 'blocked'
    ORDER BY j.priority DESC, j.status_at, j.id LIMIT @max_scan
) b WHERE b.question <> '' AND b.answer = ''
ORDER BY b.priority DESC, b.status_at, b.id LIMIT @max_rows;
