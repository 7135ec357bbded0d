-- name: EventAppend :exec
-- Writes an event, and the contents that it refers to.
WITH logged AS (
    INSERT INTO event (workspace_id, type, job_id, actor, actor_kind, actor_id, epoch, changes, payload)
    VALUES (@workspace_id, @type, sqlc.narg('job_id'), @actor, @actor_kind, @actor_id, sqlc.narg('epoch'), @changes, @payload)
    RETURNING id
), told AS (
    SELECT DISTINCT ON (c.sum) decode(c.sum, 'hex') AS sha256, c.body
    FROM (SELECT unnest(@sums::text[]) AS sum, unnest(@bodies::text[]) AS body) c ORDER BY c.sum
), kept AS (
    INSERT INTO content (workspace_id, sha256, body) SELECT @workspace_id, t.sha256, t.body FROM told t ORDER BY t.sha256
    ON CONFLICT (workspace_id, sha256) DO NOTHING
)
INSERT INTO event_content (workspace_id, event_id, sha256) SELECT @workspace_id, l.id, t.sha256 FROM logged l, told t;

-- name: Contents :many
-- Contents by the hexadecimal form of their SHA-256, those that still are what it says.
SELECT encode(c.sha256, 'hex')::text AS sum, c.body::jsonb AS body FROM (
    SELECT t.sha256, t.body FROM content t
    WHERE t.workspace_id = @workspace_id AND t.sha256 = ANY(ARRAY(SELECT decode(s, 'hex') FROM unnest(@sums::text[]) s)) OFFSET 0
) c WHERE sha256(convert_to(c.body, 'UTF8')) = c.sha256;

-- name: ContentsCollect :one
SELECT collect_contents(@workspace_id::uuid, @max_rows::int)::int AS deleted;

-- name: JobPurge :one
-- See the function: it deletes a job and all that belongs to it.
SELECT sum::bigint AS sum, removed::bigint[] AS removed
FROM purge_job(@workspace_id::uuid, @job_id::uuid, @actor::text, @actor_kind::text, @actor_id::text);

-- name: EventOfJob :many
SELECT id, xid::text AS xid, type, job_id, actor, actor_kind, actor_id, epoch, at, saved_at, changes, payload FROM event
WHERE workspace_id = @workspace_id AND job_id = @job_id::uuid
    AND (@before::bigint = 0 OR id < @before)
ORDER BY id DESC LIMIT @max_rows;

-- name: EventTail :many
-- What was committed after a place in the log, up to the oldest transaction
-- that still runs: below it nothing can appear any more. Keys are looked up one by
-- one, whatever the statistics say: as a join it may read all jobs.
SELECT e.id, e.xid::text AS xid, e.type, e.job_id,
    coalesce((SELECT j.key FROM job j WHERE j.workspace_id = e.workspace_id AND j.id = e.job_id), '')::text AS job_key,
    e.actor, e.actor_kind, e.actor_id, e.epoch, e.at, e.changes, e.payload
FROM event e
WHERE e.workspace_id = @workspace_id
    AND (e.xid, e.id) > (cast(sqlc.arg('after_xid')::text AS xid8), sqlc.arg('after_id')::bigint)
    AND e.xid < log_horizon()
ORDER BY e.workspace_id, e.xid, e.id LIMIT @max_rows;

-- name: EventTailUnusual :many
-- EventTail of at most max_scan events, without those of usual types that are of no job
-- which an agent submitted. The last one is given in any case: it says how far was looked.
WITH page AS MATERIALIZED (
    SELECT e.id, e.xid, e.type <> ALL(@usual::text[]) OR coalesce(CASE e.type WHEN 'job.created' THEN e.actor_kind
        ELSE (SELECT c.actor_kind FROM event c WHERE c.workspace_id = e.workspace_id AND c.job_id = e.job_id ORDER BY c.id LIMIT 1)
        END = 'agent', false) AS fits
    FROM event e
    WHERE e.workspace_id = @workspace_id
        AND (e.xid, e.id) > (cast(sqlc.arg('after_xid')::text AS xid8), sqlc.arg('after_id')::bigint)
        AND e.xid < log_horizon()
    ORDER BY e.workspace_id, e.xid, e.id LIMIT @max_scan
), chosen AS MATERIALIZED (
    (SELECT p.id, p.fits FROM page p WHERE p.fits ORDER BY p.xid, p.id LIMIT @max_rows)
    UNION
    (SELECT p.id, p.fits FROM page p ORDER BY p.xid DESC, p.id DESC LIMIT 1)
)
SELECT e.id, e.xid::text AS xid, e.type, e.job_id,
    coalesce((SELECT j.key FROM job j WHERE j.workspace_id = e.workspace_id AND j.id = e.job_id), '')::text AS job_key,
    e.actor, e.actor_kind, e.actor_id, e.epoch, e.at, e.changes, e.payload, c.fits::boolean AS fits,
    (SELECT count(*) FROM page)::int AS looked
FROM chosen c CROSS JOIN LATERAL (SELECT o.* FROM event o WHERE o.workspace_id = @workspace_id AND o.id = c.id OFFSET 0) e
ORDER BY e.xid, e.id;

-- name: EventFollows :one
-- Whether anything was committed after a place: after the end of a tail that is what a
-- transaction still running keeps back.
SELECT EXISTS (SELECT FROM event e
    WHERE e.workspace_id = @workspace_id
        AND (e.xid, e.id) > (cast(sqlc.arg('after_xid')::text AS xid8), sqlc.arg('after_id')::bigint)
    ORDER BY e.workspace_id, e.xid, e.id LIMIT 1)::boolean AS follows;

-- name: EventTailJobs :many
-- EventTail of which only the jobs are wanted, and whether one of these fields was changed;
-- without fields all fit.
SELECT e.id, e.xid::text AS xid, e.job_id, (cardinality(@fields::text[]) = 0 OR EXISTS (
    SELECT FROM jsonb_array_elements(e.changes) c WHERE c ->> 'field' = ANY(@fields::text[])))::boolean AS fits
FROM event e
WHERE e.workspace_id = @workspace_id
    AND (e.xid, e.id) > (cast(sqlc.arg('after_xid')::text AS xid8), sqlc.arg('after_id')::bigint)
    AND e.xid < log_horizon()
ORDER BY e.workspace_id, e.xid, e.id LIMIT @max_rows;

-- name: EventTypes :many
-- Of which types the events after a place are, at most max_rows of them, and the place after the last
-- one; no row where there is none.
WITH batch AS MATERIALIZED (
    SELECT e.xid, e.id, e.type FROM event e
    WHERE e.workspace_id = @workspace_id
        AND (e.xid, e.id) > (cast(sqlc.arg('after_xid')::text AS xid8), sqlc.arg('after_id')::bigint)
        AND e.xid < log_horizon()
    ORDER BY e.workspace_id, e.xid, e.id LIMIT @max_rows
)
SELECT (SELECT array_agg(DISTINCT b.type) FROM batch b)::text[] AS types, (SELECT count(*) FROM batch)::int AS looked,
    l.xid::text AS xid, l.id
FROM batch l ORDER BY l.xid DESC, l.id DESC LIMIT 1;

-- name: EventHead :one
-- The place after everything that can no longer change.
SELECT log_horizon()::text AS xid;

-- name: EventScan :many
-- Looks at most at max_scan events after a place, up to the oldest transaction
-- that still runs, and gives of them those that fit and the last one, fitting
-- or not: it says how far was looked. Events and keys are looked up one by one,
-- whatever the statistics say. With patterns in settings, what people did beside
-- jobs does not fit, nor what they name.
WITH batch AS MATERIALIZED (
    SELECT e.id, e.xid, e.job_id, (cardinality(@types::text[]) = 0 OR e.type LIKE ANY(@types::text[]))
        AND (NOT @quiet::boolean OR e.type <> 'job.progressed')
        AND (cardinality(@actors::text[]) = 0 OR e.actor = ANY(@actors::text[]) OR e.actor_id = ANY(@actors::text[]))
        AND (sqlc.narg('since')::timestamptz IS NULL OR e.at >= sqlc.narg('since')::timestamptz)
        AND (cardinality(@settings::text[]) = 0 OR e.job_id IS NOT NULL
            OR e.actor_kind <> 'person' AND NOT e.type LIKE ANY(@settings::text[])) AS fits
    FROM event e
    WHERE e.workspace_id = @workspace_id
        AND (e.xid, e.id) > (cast(sqlc.arg('after_xid')::text AS xid8), sqlc.arg('after_id')::bigint)
        AND e.xid < log_horizon()
    ORDER BY e.workspace_id, e.xid, e.id LIMIT @max_scan
), chosen AS MATERIALIZED (
    (SELECT b.id, b.job_id, b.fits FROM batch b WHERE b.fits ORDER BY b.xid, b.id LIMIT @max_rows)
    UNION
    (SELECT b.id, b.job_id, b.fits FROM batch b ORDER BY b.xid DESC, b.id DESC LIMIT 1)
)
SELECT e.id, e.xid::text AS xid, e.type, e.job_id,
    coalesce((SELECT j.key FROM job j WHERE j.workspace_id = e.workspace_id AND j.id = e.job_id), '')::text AS job_key,
    e.actor, e.actor_kind, e.actor_id, e.epoch, e.at, e.changes, e.payload, c.fits::boolean AS fits,
    (SELECT count(*) FROM batch)::int AS looked
FROM chosen c CROSS JOIN LATERAL (SELECT o.* FROM event o WHERE o.workspace_id = @workspace_id AND o.id = c.id OFFSET 0) e
ORDER BY e.xid, e.id;

-- name: EventScanBack :many
-- EventScan the other way: what lies before a place and not before a
-- transaction, the newest first.
WITH batch AS MATERIALIZED (
    SELECT e.id, e.xid, e.job_id, (cardinality(@types::text[]) = 0 OR e.type LIKE ANY(@types::text[]))
        AND (NOT @quiet::boolean OR e.type <> 'job.progressed')
        AND (cardinality(@actors::text[]) = 0 OR e.actor = ANY(@actors::text[]) OR e.actor_id = ANY(@actors::text[]))
        AND (sqlc.narg('since')::timestamptz IS NULL OR e.at >= sqlc.narg('since')::timestamptz)
        AND (cardinality(@settings::text[]) = 0 OR e.job_id IS NOT NULL
            OR e.actor_kind <> 'person' AND NOT e.type LIKE ANY(@settings::text[])) AS fits
    FROM event e
    WHERE e.workspace_id = @workspace_id
        AND (e.xid, e.id) < (cast(sqlc.arg('before_xid')::text AS xid8), sqlc.arg('before_id')::bigint)
        AND e.xid >= cast(sqlc.arg('from_xid')::text AS xid8)
        AND e.xid < log_horizon()
    ORDER BY e.workspace_id DESC, e.xid DESC, e.id DESC LIMIT @max_scan
), chosen AS MATERIALIZED (
    (SELECT b.id, b.job_id, b.fits FROM batch b WHERE b.fits ORDER BY b.xid DESC, b.id DESC LIMIT @max_rows)
    UNION
    (SELECT b.id, b.job_id, b.fits FROM batch b ORDER BY b.xid, b.id LIMIT 1)
)
SELECT e.id, e.xid::text AS xid, e.type, e.job_id,
    coalesce((SELECT j.key FROM job j WHERE j.workspace_id = e.workspace_id AND j.id = e.job_id), '')::text AS job_key,
    e.actor, e.actor_kind, e.actor_id, e.epoch, e.at, e.changes, e.payload, c.fits::boolean AS fits,
    (SELECT count(*) FROM batch)::int AS looked
FROM chosen c CROSS JOIN LATERAL (SELECT o.* FROM event o WHERE o.workspace_id = @workspace_id AND o.id = c.id OFFSET 0) e
ORDER BY e.xid DESC, e.id DESC;

-- name: EventPlaceAt :one
-- The first transaction that has an event of a time or later, found by halving: the
-- order of transactions is nearly that of time.
WITH RECURSIVE span AS (
    SELECT 0::bigint AS low, (log_horizon()::text)::bigint AS high
    UNION ALL
    SELECT CASE WHEN p.late THEN s.low ELSE s.low + (s.high - s.low) / 2 + 1 END,
        CASE WHEN p.late THEN s.low + (s.high - s.low) / 2 ELSE s.high END
    FROM span s CROSS JOIN LATERAL (SELECT coalesce((SELECT e.at >= @at::timestamptz FROM event e
        WHERE e.workspace_id = @workspace_id AND e.xid >= cast((s.low + (s.high - s.low) / 2)::text AS xid8)
        ORDER BY e.workspace_id, e.xid, e.id LIMIT 1), true) AS late) p
    WHERE s.low < s.high
)
SELECT low::text AS xid FROM span WHERE low = high;

-- name: EventScanJob :many
-- EventScan over the events of some jobs, which are few: all that fit are found,
-- and put into the order of the log.
SELECT e.id, e.xid::text AS xid, e.type, e.job_id,
    coalesce((SELECT j.key FROM job j WHERE j.workspace_id = e.workspace_id AND j.id = e.job_id), '')::text AS job_key,
    e.actor, e.actor_kind, e.actor_id, e.epoch, e.at, e.changes, e.payload
FROM event e
WHERE e.workspace_id = @workspace_id AND e.job_id = ANY(@job_ids::uuid[])
    AND (e.xid, e.id) > (cast(sqlc.arg('after_xid')::text AS xid8), sqlc.arg('after_id')::bigint)
    AND e.xid < log_horizon()
    AND (cardinality(@types::text[]) = 0 OR e.type LIKE ANY(@types::text[]))
        AND (NOT @quiet::boolean OR e.type <> 'job.progressed')
    AND (cardinality(@actors::text[]) = 0 OR e.actor = ANY(@actors::text[]) OR e.actor_id = ANY(@actors::text[]))
    AND (sqlc.narg('since')::timestamptz IS NULL OR e.at >= sqlc.narg('since')::timestamptz)
ORDER BY e.xid, e.id LIMIT @max_rows;

-- name: EventScanJobBack :many
SELECT e.id, e.xid::text AS xid, e.type, e.job_id,
    coalesce((SELECT j.key FROM job j WHERE j.workspace_id = e.workspace_id AND j.id = e.job_id), '')::text AS job_key,
    e.actor, e.actor_kind, e.actor_id, e.epoch, e.at, e.changes, e.payload
FROM event e
WHERE e.workspace_id = @workspace_id AND e.job_id = ANY(@job_ids::uuid[])
    AND (e.xid, e.id) < (cast(sqlc.arg('before_xid')::text AS xid8), sqlc.arg('before_id')::bigint)
    AND e.xid < log_horizon()
    AND (cardinality(@types::text[]) = 0 OR e.type LIKE ANY(@types::text[]))
        AND (NOT @quiet::boolean OR e.type <> 'job.progressed')
    AND (cardinality(@actors::text[]) = 0 OR e.actor = ANY(@actors::text[]) OR e.actor_id = ANY(@actors::text[]))
    AND (sqlc.narg('since')::timestamptz IS NULL OR e.at >= sqlc.narg('since')::timestamptz)
ORDER BY e.xid DESC, e.id DESC LIMIT @max_rows;

-- name: EventCompactable :many
-- A page of jobs by id, and of each whether its 51st event is older than what
-- compact_job_events keeps: one that is costs one look, whatever its history.
SELECT p.id, coalesce((SELECT e.at < now() - interval '90 days' FROM event e
    WHERE e.workspace_id = @workspace_id AND e.job_id = p.id ORDER BY e.id OFFSET 50 LIMIT 1), false)::boolean AS due
FROM (SELECT j.id FROM job j WHERE j.workspace_id = @workspace_id AND j.id > @after ORDER BY j.id LIMIT @max_rows) p
ORDER BY p.id;

-- name: EventCompact :one
SELECT compact_job_events(@workspace_id::uuid, @job_id::uuid)::int AS folded;
