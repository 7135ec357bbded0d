-- name: ReadyHeads :many
-- The most urgent job of each lane, from a place in its order on. A lane without
-- one gives no row. blocks is how long the way to it was: PostgreSQL counts on
-- from one transaction to the next, so it is asked before and after each lane.
SELECT l.lane_id::bigint AS lane_id, h.priority, h.place, h.tie_break, h.job_id, (pg_stat_get_xact_blocks_fetched('public.job_ready'::regclass)
    + pg_stat_get_xact_blocks_fetched('public.job_ready_claim'::regclass) - l.blocks)::bigint AS blocks
FROM (SELECT unnest(@lanes::bigint[]) AS lane_id, unnest(@priorities::smallint[]) AS priority,
    unnest(@places::timestamptz[]) AS place, unnest(@tie_breaks::bytea[]) AS tie_break,
    pg_stat_get_xact_blocks_fetched('public.job_ready'::regclass)
        + pg_stat_get_xact_blocks_fetched('public.job_ready_claim'::regclass) AS blocks) l
CROSS JOIN LATERAL (
    (SELECT r.priority, r.place, r.tie_break, r.job_id FROM job_ready r
    WHERE r.workspace_id = @workspace_id AND r.lane_id = l.lane_id AND r.priority = l.priority
        AND (r.place, r.tie_break) >= (l.place, l.tie_break)
    ORDER BY r.place, r.tie_break LIMIT 1)
    UNION ALL
    (SELECT r.priority, r.place, r.tie_break, r.job_id FROM job_ready r
    WHERE r.workspace_id = @workspace_id AND r.lane_id = l.lane_id AND r.priority < l.priority
    ORDER BY r.priority DESC, r.place, r.tie_break LIMIT 1)
    LIMIT 1
) h;

-- name: ReadyLanesOfProduct :many
-- The lanes of a product that have a claimable job.
SELECT l.id FROM lane l WHERE l.workspace_id = @workspace_id AND l.product_id = @product_id
    AND EXISTS (SELECT 1 FROM job_ready r WHERE r.workspace_id = l.workspace_id AND r.lane_id = l.id)
ORDER BY l.id;

-- name: AgeingWorkspaces :many
-- The workspaces in which waiting makes urgent, and after how many minutes.
SELECT workspace_id, ageing_minutes FROM dispatch_setting WHERE ageing_minutes > 0;

-- name: ReadyAge :execrows
-- Raises ready jobs, some at once, by one for each so many minutes that they stand at a priority,
-- and puts them behind those that came there before. Of each lane and priority those that are
-- due are the first of the index.
WITH due AS MATERIALIZED (
    SELECT c.job_id FROM lane l CROSS JOIN (SELECT generate_series(0, 9) AS level) p CROSS JOIN LATERAL (
        SELECT r.job_id FROM job_ready r
        WHERE r.workspace_id = @workspace_id AND r.lane_id = l.id AND r.priority = p.level::smallint
            AND r.place <= clock_timestamp() - make_interval(mins => @minutes::int)
        ORDER BY r.place, r.tie_break LIMIT (SELECT @max_rows::int)
    ) c
    WHERE l.workspace_id = @workspace_id LIMIT (SELECT @max_rows::int)
), locked AS MATERIALIZED (
    SELECT r.job_id, least(10 - r.priority,
        floor(extract(epoch FROM clock_timestamp() - r.place) / (60 * @minutes::int))::int)::int AS steps
    FROM job_ready r WHERE r.workspace_id = @workspace_id AND r.job_id = ANY(ARRAY(SELECT d.job_id FROM due d))
        AND r.priority < 10
    FOR UPDATE SKIP LOCKED
)
UPDATE job_ready q SET priority = q.priority + k.steps, raised = q.raised + k.steps,
    place = q.place + make_interval(mins => k.steps * @minutes::int)
FROM locked k WHERE q.workspace_id = @workspace_id AND q.job_id = k.job_id AND k.steps > 0;

-- name: UnplacedWorkspaces :many
-- The workspaces whose ready jobs may stand by other settings than the present ones.
SELECT workspace_id, version FROM dispatch_setting WHERE placed_version <> version;

-- name: ReadyPlace :one
-- Moves ready jobs, some at once by their ids, to where their estimates and the present setting put them,
-- but for those that people have ranked. Returns the last one that was looked at, none after the end. A job
-- that somebody changes or takes at the moment is left: what is saved of it goes by the setting itself.
WITH setting AS MATERIALIZED (
    SELECT d.short_jobs_first FROM dispatch_setting d WHERE d.workspace_id = @workspace_id
), looked AS MATERIALIZED (
    SELECT r.job_id FROM job_ready r WHERE r.workspace_id = @workspace_id AND r.job_id > @after
    ORDER BY r.job_id LIMIT (SELECT @max_rows::int)
), locked AS MATERIALIZED (
    SELECT r.job_id FROM job_ready r
    WHERE r.workspace_id = @workspace_id AND r.job_id = ANY(ARRAY(SELECT l.job_id FROM looked l)) AND r.rank IS NULL
    FOR UPDATE SKIP LOCKED
), moved AS (
    UPDATE job_ready q SET delay_minutes = n.delay, place = q.place + make_interval(mins => n.delay - q.delay_minutes)
    FROM (SELECT k.job_id, estimate_delay((SELECT s.short_jobs_first FROM setting s), j.estimated_minutes) AS delay
        FROM locked k CROSS JOIN LATERAL (SELECT o.estimated_minutes FROM job o
            WHERE o.workspace_id = @workspace_id AND o.id = k.job_id OFFSET 0) j) n
    WHERE q.workspace_id = @workspace_id AND q.job_id = n.job_id AND q.delay_minutes <> n.delay
    RETURNING q.job_id
)
SELECT coalesce((SELECT l.job_id FROM looked l ORDER BY l.job_id DESC LIMIT 1), '00000000-0000-0000-0000-000000000000')::uuid AS last,
    (SELECT count(*) FROM moved)::int AS moved;

-- name: DispatchPlaced :exec
-- Notes by which settings the ready jobs stand, unless these were changed meanwhile.
UPDATE dispatch_setting SET placed_version = @version WHERE workspace_id = @workspace_id AND version = @version;

-- name: ReadyStands :many
-- By how much ageing has raised a job, and to which factory it is offered until when: '' for none, and
-- turn 0 where it waits for that factory. No row of a job that is not ready.
SELECT r.priority, r.raised, coalesce(o.factory, '')::text AS offered_to, coalesce(o.turn, 0)::smallint AS turn,
    coalesce(o.expires_at, now())::timestamptz AS offered_until
FROM job_ready r
LEFT JOIN LATERAL (SELECT x.factory, x.turn, x.expires_at FROM job_offer x
    JOIN job j ON j.workspace_id = x.workspace_id AND j.id = x.job_id AND j.version = x.job_version
    JOIN dispatch_setting s ON s.workspace_id = x.workspace_id AND s.mode = 'targeted'
    WHERE x.workspace_id = r.workspace_id AND x.job_id = r.job_id AND x.expires_at > clock_timestamp()) o ON true
WHERE r.workspace_id = @workspace_id AND r.job_id = @job_id;
