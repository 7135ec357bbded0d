-- name: ReadyFirst :many
-- The most urgent jobs of each lane, from a place in its order on, each lane's in its order.
SELECT l.lane_id::bigint AS lane_id, h.priority, h.place, h.tie_break, h.job_id
FROM (SELECT unnest(@lanes::bigint[]) AS lane_id, unnest(@priorities::smallint[]) AS priority,
    unnest(@places::timestamptz[]) AS place, unnest(@tie_breaks::bytea[]) AS tie_break) l
CROSS JOIN LATERAL (
    (SELECT r.priority, r.place, r.tie_break, r.job_id FROM job_ready r
    WHERE r.workspace_id = @workspace_id AND r.lane_id = l.lane_id AND r.priority = l.priority
        AND (r.place, r.tie_break) >= (l.place, l.tie_break)
    ORDER BY r.place, r.tie_break LIMIT (SELECT @max_rows::int))
    UNION ALL
    (SELECT r.priority, r.place, r.tie_break, r.job_id FROM job_ready r
    WHERE r.workspace_id = @workspace_id AND r.lane_id = l.lane_id AND r.priority < l.priority
    ORDER BY r.priority DESC, r.place, r.tie_break LIMIT (SELECT @max_rows::int))
    LIMIT (SELECT @max_rows::int)
) h;

-- name: OffersStanding :many
-- The offers that stand, those that end first.
SELECT o.job_id, r.lane_id, r.priority, r.place, r.tie_break FROM job_offer o
CROSS JOIN LATERAL (SELECT x.lane_id, x.priority, x.place, x.tie_break FROM job_ready x
    WHERE x.workspace_id = @workspace_id AND x.job_id = o.job_id OFFSET 0) r
WHERE o.workspace_id = @workspace_id AND o.turn > 0 AND o.expires_at > statement_timestamp()
ORDER BY o.expires_at LIMIT @max_rows;

-- name: OffersOfJobs :many
-- The last offers of jobs, and how many seconds they still stand.
SELECT o.job_id, o.job_version, o.factory_id, o.factory, o.score, o.turn, o.tried, o.expires_at,
    extract(epoch FROM o.expires_at - clock_timestamp())::float8 AS stands,
    extract(epoch FROM clock_timestamp() - o.first_at)::float8 AS since_first
FROM job_offer o WHERE o.workspace_id = @workspace_id AND o.job_id = ANY(@job_ids::uuid[]);

-- name: ReadyTakeMatched :many
-- Takes jobs out of job_ready that stand where they stood, at the version that was looked at, unless
-- another claim is taking them or offering them; their offers end. LeasesInsert has to follow in the
-- same transaction.
WITH asked AS MATERIALIZED (
    SELECT unnest(@job_ids::uuid[]) AS job_id, unnest(@lanes::bigint[]) AS lane_id, unnest(@versions::int[]) AS version
), found AS MATERIALIZED (
    SELECT r.job_id, r.lane_id FROM job_ready r
    WHERE r.workspace_id = @workspace_id AND r.job_id = ANY(@job_ids::uuid[]) FOR UPDATE SKIP LOCKED
), same AS MATERIALIZED (
    SELECT f.job_id FROM found f JOIN asked a ON a.job_id = f.job_id AND a.lane_id = f.lane_id
    CROSS JOIN LATERAL (SELECT k.version FROM job k WHERE k.workspace_id = @workspace_id AND k.id = f.job_id OFFSET 0) j
    WHERE j.version = a.version
), ended AS (
    DELETE FROM job_offer o WHERE o.workspace_id = @workspace_id AND o.job_id = ANY(ARRAY(SELECT s.job_id FROM same s))
)
DELETE FROM job_ready r WHERE r.workspace_id = @workspace_id AND r.job_id = ANY(ARRAY(SELECT s.job_id FROM same s))
RETURNING r.job_id;

-- name: OffersPut :many
-- Offers jobs that stand in the queue and that nobody else takes or offers at this moment. An offer of
-- the same version is replaced by a later one only.
WITH made AS MATERIALIZED (
    SELECT unnest(@job_ids::uuid[]) AS job_id, unnest(@versions::int[]) AS version, unnest(@factory_ids::uuid[]) AS factory_id,
        unnest(@factories::text[]) AS factory, unnest(@scores::float8[]) AS score, unnest(@turns::smallint[]) AS turn,
        unnest(@seconds::float8[]) AS seconds
), free AS MATERIALIZED (
    SELECT r.job_id FROM job_ready r
    WHERE r.workspace_id = @workspace_id AND r.job_id = ANY(@job_ids::uuid[]) FOR UPDATE SKIP LOCKED
)
INSERT INTO job_offer AS o (workspace_id, job_id, job_version, factory_id, factory, score, turn, tried, expires_at)
SELECT @workspace_id, m.job_id, m.version, m.factory_id, m.factory, m.score, m.turn,
    CASE WHEN m.turn > 0 THEN ARRAY[m.factory] ELSE '{}'::text[] END, clock_timestamp() + make_interval(secs => m.seconds)
FROM made m WHERE m.job_id = ANY(ARRAY(SELECT f.job_id FROM free f))
ON CONFLICT (workspace_id, job_id) DO UPDATE SET job_version = excluded.job_version, factory_id = excluded.factory_id,
    factory = excluded.factory, score = excluded.score, turn = excluded.turn,
    tried = CASE WHEN o.job_version = excluded.job_version THEN o.tried || excluded.tried ELSE excluded.tried END,
    first_at = CASE WHEN o.job_version = excluded.job_version THEN o.first_at ELSE excluded.first_at END,
    offered_at = excluded.offered_at, expires_at = excluded.expires_at
WHERE o.job_version <> excluded.job_version OR o.turn < excluded.turn
RETURNING o.job_id, o.expires_at;

-- name: OffersEnded :many
-- The offers of ready jobs whose time was over between a moment and now.
SELECT o.job_id, o.job_version, o.factory_id, o.factory, o.turn, o.expires_at, r.lane_id FROM job_offer o
CROSS JOIN LATERAL (SELECT x.lane_id FROM job_ready x WHERE x.workspace_id = @workspace_id AND x.job_id = o.job_id OFFSET 0) r
WHERE o.workspace_id = @workspace_id AND o.expires_at > @since AND o.expires_at <= @until
ORDER BY o.expires_at LIMIT @max_rows;

-- name: OfferNext :one
-- What time it is, and how many seconds the offer stands that ends next; below 0 where none stands.
SELECT statement_timestamp()::timestamptz AS now, coalesce((SELECT extract(epoch FROM o.expires_at - statement_timestamp())
    FROM job_offer o WHERE o.workspace_id = @workspace_id AND o.expires_at > statement_timestamp() ORDER BY o.expires_at LIMIT 1), -1)::float8 AS stands;

-- name: OffersExpire :execrows
-- Deletes offers whose time is long over and that mean nothing any more: of jobs that are not ready or
-- have changed, and all where the mode is another.
DELETE FROM job_offer d WHERE d.workspace_id = @workspace_id AND d.job_id IN (
    SELECT o.job_id FROM job_offer o
    WHERE o.workspace_id = @workspace_id AND o.expires_at < statement_timestamp() - make_interval(secs => @keep_seconds::float8)
        AND (NOT EXISTS (SELECT FROM dispatch_setting s WHERE s.workspace_id = @workspace_id AND s.mode = 'targeted')
            OR NOT EXISTS (SELECT FROM job_ready r WHERE r.workspace_id = @workspace_id AND r.job_id = o.job_id)
            OR NOT EXISTS (SELECT FROM job k WHERE k.workspace_id = @workspace_id AND k.id = o.job_id AND k.version = o.job_version))
    ORDER BY o.expires_at LIMIT @max_rows);
