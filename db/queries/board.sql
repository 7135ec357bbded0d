-- name: BoardOpen :many
-- One page of a column of jobs that are not finished, the most urgent first: the
-- top of each status, merged. Of each status at most max_scan jobs are looked at.
SELECT c.id, c.priority, c.status_at FROM unnest(@statuses::text[]) AS s(status)
CROSS JOIN LATERAL (
    SELECT o.id, o.priority, o.status_at FROM (
        SELECT j.id, j.key, j.title, j.product_id, j.lane_id, j.repo, j.phase, j.factory, j.priority, j.status_at FROM job j
        WHERE j.workspace_id = @workspace_id AND j.status = s.status
            AND j.status IN ('waiting', 'ready', 'assigned', 'running', 'paused', 'blocked', 'in_review', 'approved')
            AND j.priority <= @after_priority::int
            AND (j.priority < @after_priority::int OR (j.status_at, j.id) > (@after_at::timestamptz, @after_id::uuid))
        ORDER BY j.priority DESC, j.status_at, j.id LIMIT @max_scan
    ) o
    WHERE (cardinality(@products::text[]) = 0 OR o.product_id = ANY(ARRAY(
            SELECT p.id FROM product p WHERE p.workspace_id = @workspace_id AND p.name = ANY(@products::text[]))))
        AND (cardinality(@repos::text[]) = 0 OR o.repo = ANY(@repos::text[]))
        AND (cardinality(@phases::text[]) = 0 OR o.phase = ANY(@phases::text[]))
        AND o.priority >= @priority_gte::int
        AND (@q::text = '' OR o.title ILIKE '%' || @q || '%' OR o.key ILIKE @q || '%')
        AND (cardinality(@factories::text[]) = 0 OR o.factory = ANY(@factories::text[]) OR EXISTS (
            SELECT 1 FROM job_lease l JOIN factory f ON f.workspace_id = l.workspace_id AND f.id = l.factory_id
            WHERE l.workspace_id = @workspace_id AND l.job_id = o.id AND f.name = ANY(@factories::text[])))
        AND (cardinality(@lanes::bigint[]) = 0 OR o.lane_id = ANY(@lanes::bigint[]))
    LIMIT @max_rows
) c
ORDER BY c.priority DESC, c.status_at, c.id LIMIT @max_rows;

-- name: BoardReady :many
-- BoardOpen for ready jobs, in the order in which claims give them: priority by priority, so that each is
-- found in the order of its index whatever the statistics say.
SELECT o.id::uuid AS id, r.priority, r.place, r.tie_break FROM (
    SELECT t.job_id, t.lane_id, t.priority, t.place, t.tie_break
    FROM (SELECT generate_series(greatest(10 - @after_priority::int, 0), 10) AS level) p CROSS JOIN LATERAL (
        SELECT q.job_id, q.lane_id, q.priority, q.place, q.tie_break FROM job_ready q
        WHERE q.workspace_id = @workspace_id AND q.level = p.level::smallint
            AND (q.place, q.tie_break) > (CASE WHEN p.level = 10 - @after_priority THEN @after_place::timestamptz ELSE '-infinity' END,
                CASE WHEN p.level = 10 - @after_priority THEN @after_tie_break::bytea ELSE '' END)
        ORDER BY q.place, q.tie_break LIMIT @max_scan
    ) t LIMIT @max_scan
) r CROSS JOIN LATERAL (
    SELECT j.id, j.key, j.title, j.product_id, j.repo, j.phase, j.factory, j.priority FROM job j
    WHERE j.workspace_id = @workspace_id AND j.id = r.job_id OFFSET 0
) o
WHERE (cardinality(@products::text[]) = 0 OR o.product_id = ANY(ARRAY(
        SELECT p.id FROM product p WHERE p.workspace_id = @workspace_id AND p.name = ANY(@products::text[]))))
    AND (cardinality(@repos::text[]) = 0 OR o.repo = ANY(@repos::text[]))
    AND (cardinality(@phases::text[]) = 0 OR o.phase = ANY(@phases::text[]))
    AND o.priority >= @priority_gte::int
    AND (@q::text = '' OR o.title ILIKE '%' || @q || '%' OR o.key ILIKE @q || '%')
    AND (cardinality(@factories::text[]) = 0 OR o.factory = ANY(@factories::text[]))
    AND (cardinality(@lanes::bigint[]) = 0 OR r.lane_id = ANY(@lanes::bigint[]))
LIMIT @max_rows;

-- name: BoardReadyEdge :many
-- BoardOpenEdge for BoardReady.
SELECT t.job_id AS id, t.priority, t.place, t.tie_break
FROM (SELECT generate_series(greatest(10 - @after_priority::int, 0), 10) AS level) p CROSS JOIN LATERAL (
    SELECT q.job_id, q.priority, q.place, q.tie_break FROM job_ready q
    WHERE q.workspace_id = @workspace_id AND q.level = p.level::smallint
        AND (q.place, q.tie_break) > (CASE WHEN p.level = 10 - @after_priority THEN @after_place::timestamptz ELSE '-infinity' END,
            CASE WHEN p.level = 10 - @after_priority THEN @after_tie_break::bytea ELSE '' END)
    ORDER BY q.place, q.tie_break LIMIT (SELECT @max_scan::int)
) t OFFSET (SELECT @max_scan::int) - 1 LIMIT 1;

-- name: BoardLaneReady :many
-- BoardReady for jobs of some lanes: the top of each lane.
SELECT c.id::uuid AS id, c.priority, c.place, c.tie_break FROM unnest(@lanes::bigint[]) AS l(lane_id)
CROSS JOIN LATERAL (
    SELECT r.job_id AS id, r.priority, r.place, r.tie_break FROM job_ready r
    WHERE r.workspace_id = @workspace_id AND r.lane_id = l.lane_id AND r.priority <= @after_priority::int
        AND (r.priority < @after_priority::int OR (r.place, r.tie_break) > (@after_place::timestamptz, @after_tie_break::bytea))
    ORDER BY r.priority DESC, r.place, r.tie_break LIMIT @max_rows
) c
ORDER BY c.priority DESC, c.place, c.tie_break LIMIT @max_rows;

-- name: BoardReadyKeys :many
-- Where ready jobs stand in that order.
SELECT r.job_id AS id, r.priority, r.place, r.tie_break FROM job_ready r
WHERE r.workspace_id = @workspace_id AND r.job_id = ANY(@ids::uuid[]);

-- name: BoardFinished :many
-- One page of a column of finished jobs, the newest first, none older than days.
SELECT c.id, c.priority, c.status_at FROM unnest(@statuses::text[]) AS s(status)
CROSS JOIN LATERAL (
    SELECT o.id, o.priority, o.status_at FROM (
        SELECT j.id, j.key, j.title, j.product_id, j.lane_id, j.repo, j.phase, j.factory, j.priority, j.status_at FROM job j
        WHERE j.workspace_id = @workspace_id AND j.status = s.status
            AND j.status IN ('completed', 'failed', 'aborted')
            AND j.status_at >= now() - make_interval(days => @days::int)
            AND (j.status_at, j.id) < (@after_at::timestamptz, @after_id::uuid)
        ORDER BY j.status_at DESC, j.id DESC LIMIT @max_scan
    ) o
    WHERE (cardinality(@products::text[]) = 0 OR o.product_id = ANY(ARRAY(
            SELECT p.id FROM product p WHERE p.workspace_id = @workspace_id AND p.name = ANY(@products::text[]))))
        AND (cardinality(@repos::text[]) = 0 OR o.repo = ANY(@repos::text[]))
        AND (cardinality(@phases::text[]) = 0 OR o.phase = ANY(@phases::text[]))
        AND o.priority >= @priority_gte::int
        AND (@q::text = '' OR o.title ILIKE '%' || @q || '%' OR o.key ILIKE @q || '%')
        AND (cardinality(@factories::text[]) = 0 OR o.factory = ANY(@factories::text[]) OR EXISTS (
            SELECT 1 FROM attempt a WHERE a.workspace_id = @workspace_id AND a.job_id = o.id AND a.factory = ANY(@factories::text[])))
    LIMIT @max_rows
) c
ORDER BY c.status_at DESC, c.id DESC LIMIT @max_rows;

-- name: BoardOpenEdge :many
-- How far BoardOpen looked: the last job that it looked at, of the status where it
-- came least far; no row where it came to the end of each.
SELECT c.id, c.priority, c.status_at FROM unnest(@statuses::text[]) AS s(status)
CROSS JOIN LATERAL (
    SELECT j.id, j.priority, j.status_at FROM job j
    WHERE j.workspace_id = @workspace_id AND j.status = s.status
        AND j.status IN ('waiting', 'ready', 'assigned', 'running', 'paused', 'blocked', 'in_review', 'approved')
        AND j.priority <= @after_priority::int
        AND (j.priority < @after_priority::int OR (j.status_at, j.id) > (@after_at::timestamptz, @after_id::uuid))
    ORDER BY j.priority DESC, j.status_at, j.id OFFSET @max_scan - 1 LIMIT 1
) c
ORDER BY c.priority DESC, c.status_at, c.id LIMIT 1;

-- name: BoardFinishedEdge :many
-- BoardOpenEdge for BoardFinished.
SELECT c.id, c.priority, c.status_at FROM unnest(@statuses::text[]) AS s(status)
CROSS JOIN LATERAL (
    SELECT j.id, j.priority, j.status_at FROM job j
    WHERE j.workspace_id = @workspace_id AND j.status = s.status
        AND j.status IN ('completed', 'failed', 'aborted')
        AND j.status_at >= now() - make_interval(days => @days::int)
        AND (j.status_at, j.id) < (@after_at::timestamptz, @after_id::uuid)
    ORDER BY j.status_at DESC, j.id DESC OFFSET @max_scan - 1 LIMIT 1
) c
ORDER BY c.status_at DESC, c.id DESC LIMIT 1;

-- name: BoardCount :many
-- How many jobs stand in each status, counted up to a limit: a board says
-- "1,000+", it never counts a million rows. The filters are those of BoardOpen
-- and BoardFinished, and so is how far it looks. Each half walks the index of its
-- columns, which is what its order is for.
SELECT s.status::text AS status, (
    SELECT count(*) FROM (
        (SELECT 1 FROM (
            SELECT j.id, j.key, j.title, j.product_id, j.lane_id, j.repo, j.phase, j.factory, j.priority, j.status_at FROM job j
            WHERE j.workspace_id = @workspace_id AND j.status = s.status
                AND j.status IN ('waiting', 'ready', 'assigned', 'running', 'paused', 'blocked', 'in_review', 'approved')
            ORDER BY j.priority DESC, j.status_at, j.id LIMIT @max_scan
        ) o
        WHERE (cardinality(@products::text[]) = 0 OR o.product_id = ANY(ARRAY(
            SELECT p.id FROM product p WHERE p.workspace_id = @workspace_id AND p.name = ANY(@products::text[]))))
        AND (cardinality(@repos::text[]) = 0 OR o.repo = ANY(@repos::text[]))
        AND (cardinality(@phases::text[]) = 0 OR o.phase = ANY(@phases::text[]))
        AND o.priority >= @priority_gte::int
        AND (@q::text = '' OR o.title ILIKE '%' || @q || '%' OR o.key ILIKE @q || '%')
        AND (cardinality(@factories::text[]) = 0 OR o.factory = ANY(@factories::text[]) OR EXISTS (
            SELECT 1 FROM job_lease l JOIN factory f ON f.workspace_id = l.workspace_id AND f.id = l.factory_id
            WHERE l.workspace_id = @workspace_id AND l.job_id = o.id AND f.name = ANY(@factories::text[])))
        AND (cardinality(@lanes::bigint[]) = 0 OR o.lane_id = ANY(@lanes::bigint[]))
        LIMIT @max_rows)
        UNION ALL
        (SELECT 1 FROM (
            SELECT j.id, j.key, j.title, j.product_id, j.lane_id, j.repo, j.phase, j.factory, j.priority, j.status_at FROM job j
            WHERE j.workspace_id = @workspace_id AND j.status = s.status
                AND j.status IN ('completed', 'failed', 'aborted')
                AND (s.status <> 'completed' OR j.status_at >= now() - make_interval(days => @days::int))
            ORDER BY j.status_at DESC, j.id DESC LIMIT @max_scan
        ) o
        WHERE (cardinality(@products::text[]) = 0 OR o.product_id = ANY(ARRAY(
            SELECT p.id FROM product p WHERE p.workspace_id = @workspace_id AND p.name = ANY(@products::text[]))))
        AND (cardinality(@repos::text[]) = 0 OR o.repo = ANY(@repos::text[]))
        AND (cardinality(@phases::text[]) = 0 OR o.phase = ANY(@phases::text[]))
        AND o.priority >= @priority_gte::int
        AND (@q::text = '' OR o.title ILIKE '%' || @q || '%' OR o.key ILIKE @q || '%')
        AND (cardinality(@factories::text[]) = 0 OR o.factory = ANY(@factories::text[]) OR EXISTS (
            SELECT 1 FROM attempt a WHERE a.workspace_id = @workspace_id AND a.job_id = o.id AND a.factory = ANY(@factories::text[])))
        LIMIT @max_rows)
    ) capped)::int AS jobs
FROM unnest(@statuses::text[]) AS s(status);

-- name: BoardLaneOpen :many
-- BoardOpen for jobs of some lanes that wait or are ready: the top of each lane.
SELECT c.id, c.priority, c.status_at FROM unnest(@statuses::text[]) AS s(status)
CROSS JOIN unnest(@lanes::bigint[]) AS l(lane_id)
CROSS JOIN LATERAL (
    SELECT j.id, j.priority, j.status_at FROM job j
    WHERE j.workspace_id = @workspace_id AND j.lane_id = l.lane_id AND j.status = s.status
        AND j.status IN ('waiting', 'ready')
        AND j.priority <= @after_priority::int
        AND (j.priority < @after_priority::int OR (j.status_at, j.id) > (@after_at::timestamptz, @after_id::uuid))
    ORDER BY j.priority DESC, j.status_at, j.id LIMIT @max_rows
) c
ORDER BY c.priority DESC, c.status_at, c.id LIMIT @max_rows;

-- name: BoardLaneFinished :many
-- BoardFinished for jobs of some lanes.
SELECT c.id, c.priority, c.status_at FROM unnest(@statuses::text[]) AS s(status)
CROSS JOIN unnest(@lanes::bigint[]) AS l(lane_id)
CROSS JOIN LATERAL (
    SELECT j.id, j.priority, j.status_at FROM job j
    WHERE j.workspace_id = @workspace_id AND j.lane_id = l.lane_id AND j.status = s.status
        AND j.status IN ('completed', 'failed', 'aborted')
        AND j.status_at >= now() - make_interval(days => @days::int)
        AND (j.status_at, j.id) < (@after_at::timestamptz, @after_id::uuid)
    ORDER BY j.status_at DESC, j.id DESC LIMIT @max_rows
) c
ORDER BY c.status_at DESC, c.id DESC LIMIT @max_rows;

-- name: BoardLaneCount :many
-- How many jobs of some lanes stand in each status, counted up to a limit.
SELECT s.status::text AS status, (
    SELECT count(*) FROM (
        SELECT 1 FROM unnest(@lanes::bigint[]) AS l(lane_id)
        CROSS JOIN LATERAL (
            (SELECT 1 FROM job j
            WHERE j.workspace_id = @workspace_id AND j.lane_id = l.lane_id AND j.status = s.status
                AND j.status IN ('waiting', 'ready')
            ORDER BY j.priority DESC, j.status_at, j.id LIMIT @max_rows)
            UNION ALL
            (SELECT 1 FROM job j
            WHERE j.workspace_id = @workspace_id AND j.lane_id = l.lane_id AND j.status = s.status
                AND j.status IN ('completed', 'failed', 'aborted')
                AND (s.status <> 'completed' OR j.status_at >= now() - make_interval(days => @days::int))
            ORDER BY j.status_at DESC, j.id DESC LIMIT @max_rows)
        ) one
        LIMIT @max_rows
    ) capped)::int AS jobs
FROM unnest(@statuses::text[]) AS s(status);

-- name: BoardUnroutable :many
-- Ready jobs of lanes that no live factory serves, the most urgent of each lane first.
SELECT c.job_id FROM unnest(@lanes::bigint[]) AS l(lane_id)
CROSS JOIN LATERAL (
    SELECT r.job_id, r.priority, r.place, r.tie_break FROM job_ready r
    WHERE r.workspace_id = @workspace_id AND r.lane_id = l.lane_id
    ORDER BY r.priority DESC, r.place, r.tie_break LIMIT @max_rows
) c
ORDER BY c.priority DESC, c.place, c.tie_break LIMIT @max_rows;

-- name: BoardUnroutableCount :one
-- How many of them there are, counted up to a limit. The order is the index's:
-- without it all that is ready may be read for a lane that has little.
SELECT count(*)::int FROM (
    SELECT 1 FROM unnest(@lanes::bigint[]) AS l(lane_id)
    CROSS JOIN LATERAL (
        SELECT 1 FROM job_ready r WHERE r.workspace_id = @workspace_id AND r.lane_id = l.lane_id
        ORDER BY r.priority DESC, r.place, r.tie_break LIMIT @max_rows
    ) c
    LIMIT @max_rows
) capped;

-- name: BoardPhases :many
-- The phases in use: one index probe for each, not one row for each job. Only jobs
-- with a phase stand in the index.
WITH RECURSIVE phase AS (
    (SELECT j.phase FROM job j WHERE j.workspace_id = @workspace_id AND j.phase <> '' ORDER BY j.phase LIMIT 1)
    UNION ALL
    SELECT (SELECT j.phase FROM job j WHERE j.workspace_id = @workspace_id AND j.phase <> '' AND j.phase > p.phase
        ORDER BY j.phase LIMIT 1)
    FROM phase p WHERE p.phase IS NOT NULL
)
SELECT phase.phase::text AS phase FROM phase WHERE phase.phase IS NOT NULL LIMIT 100;

-- name: BoardOpenDependencies :many
-- What jobs still wait for.
SELECT DISTINCT x.job_id, d.key, d.status FROM job_dependency x
JOIN job d ON d.workspace_id = x.workspace_id AND d.id = x.depends_on_id
WHERE x.workspace_id = @workspace_id AND x.job_id = ANY(@ids::uuid[]) AND x.type IN ('blocks', 'gate')
    AND d.status <> 'completed' AND NOT (d.status = 'archived' AND d.completed_at IS NOT NULL)
    AND NOT (x.type = 'gate' AND d.status IN ('failed', 'aborted', 'archived'))
ORDER BY x.job_id, d.key;

-- name: BoardRepoHolders :many
-- Which job holds each of the repos, and the agent that works on it, if any.
SELECT s.repo, j.key, coalesce(a.name, '')::text AS agent FROM repo_slot s
JOIN job j ON j.workspace_id = s.workspace_id AND j.id = s.job_id
LEFT JOIN job_lease l ON l.workspace_id = j.workspace_id AND l.job_id = j.id
LEFT JOIN agent a ON a.workspace_id = l.workspace_id AND a.id = l.agent_id
WHERE s.workspace_id = @workspace_id AND s.repo = ANY(@repos::text[]);

-- name: BoardReviewBacklog :many
-- How many jobs of each product are in review, counted up to a limit.
SELECT p.product_id::uuid AS product_id, (
    SELECT count(*) FROM (
        SELECT 1 FROM job j
        WHERE j.workspace_id = @workspace_id AND j.product_id = p.product_id AND j.status = 'in_review' LIMIT @max_rows
    ) capped)::int AS jobs
FROM unnest(@products::uuid[]) AS p(product_id);

-- name: BoardLost :many
-- Those of the jobs whose last attempt ended with a lost lease.
SELECT j.id FROM job j
JOIN attempt a ON a.workspace_id = j.workspace_id AND a.job_id = j.id AND a.epoch = j.epoch
WHERE j.workspace_id = @workspace_id AND j.id = ANY(@ids::uuid[]) AND a.outcome = 'lost';

-- name: BoardSeatHolders :many
-- The jobs that sit longest on the seats of the factories.
SELECT h.key FROM unnest(@factories::uuid[]) AS f(factory_id)
CROSS JOIN LATERAL (
    SELECT j.key, l.claimed_at FROM job_lease l
    JOIN job j ON j.workspace_id = l.workspace_id AND j.id = l.job_id
    WHERE l.workspace_id = @workspace_id AND l.factory_id = f.factory_id AND NOT l.follows
    ORDER BY l.claimed_at LIMIT @max_rows
) h
ORDER BY h.claimed_at, h.key LIMIT @max_rows;

-- name: BoardWaitingOn :many
-- Jobs that wait for one of the jobs, or for the repo of one or a path of it; of the latter the most
-- urgent, which are the ones that a board shows. Dependents are asked for job by
-- job and looked at by their ids: as a join, all that wait, or all links, are read
-- where statistics are missing.
(SELECT x.job_id FROM unnest(@ids::uuid[]) AS i(id)
CROSS JOIN LATERAL (
    SELECT o.job_id FROM job_dependency o
    WHERE o.workspace_id = @workspace_id AND o.depends_on_id = i.id AND o.type IN ('blocks', 'gate')
        AND (SELECT d.status = 'waiting' AND d.wait_reason = 'dependency' FROM job d
            WHERE d.workspace_id = o.workspace_id AND d.id = o.job_id)
    ORDER BY o.job_id LIMIT @max_rows
) x
LIMIT @max_rows)
UNION
(SELECT w.id FROM (
    SELECT DISTINCT o.repo FROM job o WHERE o.workspace_id = @workspace_id AND o.id = ANY(@ids::uuid[]) AND o.repo <> ''
) h
CROSS JOIN LATERAL (
    SELECT j.id, j.priority, j.status_at FROM job j
    WHERE j.workspace_id = @workspace_id AND j.repo = h.repo AND j.status = 'waiting' AND j.wait_reason = 'repo_busy'
    ORDER BY j.priority DESC, j.status_at, j.id LIMIT @max_rows
) w
ORDER BY w.priority DESC, w.status_at, w.id LIMIT @max_rows)
UNION
(SELECT w.id FROM (
    SELECT DISTINCT o.repo FROM job o WHERE o.workspace_id = @workspace_id AND o.id = ANY(@ids::uuid[]) AND o.repo <> ''
) h
CROSS JOIN LATERAL (
    SELECT j.id, j.priority, j.status_at FROM job j
    WHERE j.workspace_id = @workspace_id AND j.repo = h.repo AND j.status = 'waiting' AND j.wait_reason = 'paths_busy'
    ORDER BY j.priority DESC, j.status_at, j.id LIMIT @max_rows
) w
ORDER BY w.priority DESC, w.status_at, w.id LIMIT @max_rows);

-- name: BoardLeased :many
-- The jobs that agents work on, the newest first: the leases are few, whatever
-- else the workspace holds.
SELECT l.job_id FROM job_lease l WHERE l.workspace_id = @workspace_id ORDER BY l.job_id DESC LIMIT @max_rows;

-- name: BoardOverBudget :many
-- Those of the jobs that have used more than their own ceilings.
SELECT j.id FROM job j
WHERE j.workspace_id = @workspace_id AND j.id = ANY(@ids::uuid[])
    AND (SELECT sum(s.input_tokens + s.output_tokens + s.cache_read_tokens + s.cache_write_tokens + s.cache_write_1h_tokens) > j.token_budget
            OR sum(s.charged_nanos) > j.budget_nanos
        FROM job_usage s WHERE s.workspace_id = @workspace_id AND s.job_id = j.id);

-- name: BoardStart :one
-- What a new job of a product and a repo would meet: the product's settings, its jobs in
-- review, the job that holds the repo (not a less urgent one, which gives it up), and
-- how many jobs that are as urgent stand in lanes that the offers serve; all counted up
-- to a limit. Each offer has at least the token ''.
WITH mine AS (
    SELECT p.id, p.name, p.paused, p.review_limit, p.serialise FROM product p
    WHERE p.workspace_id = @workspace_id AND p.name = coalesce(nullif(@product::text, ''), (
        SELECT o.name FROM product_repo r JOIN product o ON o.workspace_id = r.workspace_id AND o.id = r.product_id
        WHERE r.workspace_id = @workspace_id AND r.repo = @repo::text), @default_product::text)
), offer AS (
    SELECT o.n, min(o.factory) AS factory, array_agg(o.token) AS tokens
    FROM (SELECT unnest(@offers::int[]) AS n, unnest(@factories::text[]) AS factory, unnest(@tokens::text[]) AS token) o GROUP BY o.n
)
SELECT coalesce(mine.name, '')::text AS product, coalesce(mine.paused, false)::boolean AS paused,
    coalesce(mine.review_limit, 0)::int AS review_limit,
    (SELECT count(*) FROM (SELECT 1 FROM job j WHERE j.workspace_id = @workspace_id AND j.product_id = mine.id
        AND j.status = 'in_review' AND mine.review_limit IS NOT NULL LIMIT mine.review_limit) r)::int AS in_review,
    coalesce(holder.key, '')::text AS holder, coalesce(holder.agent, '')::text AS agent,
    (SELECT count(*) FROM (
        SELECT 1 FROM lane l JOIN product p ON p.workspace_id = l.workspace_id AND p.id = l.product_id AND NOT p.paused
        CROSS JOIN LATERAL (SELECT 1 FROM job_ready r WHERE r.workspace_id = l.workspace_id AND r.lane_id = l.id
            AND r.priority >= @priority::smallint AND r.job_id <> @job_id::uuid ORDER BY r.priority DESC LIMIT @max_rows) ready
        WHERE l.workspace_id = @workspace_id AND EXISTS (SELECT 1 FROM offer o
            WHERE (l.factory = '' OR l.factory = o.factory) AND l.needs <@ o.tokens)
        LIMIT @max_rows) a)::int AS ahead
FROM (SELECT 1) one
LEFT JOIN mine ON true
LEFT JOIN LATERAL (
    SELECT j.key, a.name AS agent FROM repo_slot s
    JOIN job j ON j.workspace_id = s.workspace_id AND j.id = s.job_id
    LEFT JOIN job_lease l ON l.workspace_id = j.workspace_id AND l.job_id = j.id
    LEFT JOIN agent a ON a.workspace_id = l.workspace_id AND a.id = l.agent_id
    WHERE s.workspace_id = @workspace_id AND s.repo = @repo::text AND s.job_id <> @job_id::uuid
        AND (j.status <> 'ready' OR j.priority >= @priority::smallint)
) holder ON mine.serialise = 'repo';
