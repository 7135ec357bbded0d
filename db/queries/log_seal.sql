-- name: LogSealDue :many
-- The workspaces whose log has events after its last block that can no longer be
-- joined by others: those below the oldest transaction still running.
SELECT w.id FROM workspace w
LEFT JOIN LATERAL (SELECT s.to_xid, s.to_id FROM log_seal s WHERE s.workspace_id = w.id
    ORDER BY s.number DESC LIMIT 1) s ON true
WHERE EXISTS (SELECT FROM event e WHERE e.workspace_id = w.id
    AND (e.xid, e.id) > (coalesce(s.to_xid, '0'::xid8), coalesce(s.to_id, 0))
    AND e.xid < log_horizon())
ORDER BY w.id;

-- name: LogSealHead :one
SELECT number, to_xid::text AS to_xid, to_id, digest FROM log_seal
WHERE workspace_id = @workspace_id ORDER BY number DESC LIMIT 1;

-- name: LogSealAppend :execrows
-- Appends nothing where another process has just appended a block of that number.
INSERT INTO log_seal (workspace_id, number, opens, to_xid, to_id, event_ids, event_digests, previous, digest, signer, signature)
VALUES (@workspace_id, @number, @opens, cast(sqlc.arg('to_xid')::text AS xid8), @to_id, @event_ids, @event_digests,
    @previous, @digest, @signer, @signature)
ON CONFLICT DO NOTHING;

-- name: LogSealEvents :many
-- What was committed between two places in the log, up to the oldest transaction
-- that still runs, with everything that a seal covers.
SELECT e.id, e.xid::text AS xid, e.type, e.job_id, e.actor, e.actor_kind, e.actor_id, e.epoch, e.at, e.saved_at, e.changes, e.payload
FROM event e
WHERE e.workspace_id = @workspace_id
    AND (e.xid, e.id) > (cast(sqlc.arg('after_xid')::text AS xid8), sqlc.arg('after_id')::bigint)
    AND (e.xid, e.id) <= (cast(sqlc.arg('to_xid')::text AS xid8), sqlc.arg('to_id')::bigint)
    AND e.xid < log_horizon()
ORDER BY e.workspace_id, e.xid, e.id LIMIT @max_rows;

-- name: LogSealEvent :one
SELECT e.id, e.xid::text AS xid, e.type, e.job_id, e.actor, e.actor_kind, e.actor_id, e.epoch, e.at, e.saved_at, e.changes, e.payload
FROM event e WHERE e.workspace_id = @workspace_id AND e.id = @id;

-- name: LogSealOpening :one
-- The block that opens the present chain, 0 where there is none.
SELECT coalesce(max(number), 0)::bigint AS number FROM log_seal WHERE workspace_id = @workspace_id AND opens;

-- name: LogSealBlocks :many
SELECT number, opens, to_xid::text AS to_xid, to_id, event_ids, event_digests, previous, digest, signer, signature
FROM log_seal WHERE workspace_id = @workspace_id AND number >= @first ORDER BY number LIMIT @max_rows;

-- name: LogSealHeads :many
-- How far the log of each workspace is sealed.
SELECT w.id AS workspace_id, s.number, s.digest, s.signer, s.signature
FROM workspace w CROSS JOIN LATERAL (SELECT h.number, h.digest, h.signer, h.signature FROM log_seal h
    WHERE h.workspace_id = w.id ORDER BY h.number DESC LIMIT 1) s
ORDER BY w.id;

-- name: LogSealDigests :many
-- The digests of named blocks, one of each workspace at most.
SELECT s.workspace_id, s.digest
FROM (SELECT unnest(@workspaces::uuid[]) AS workspace_id, unnest(@numbers::bigint[]) AS number) m
JOIN log_seal s ON s.workspace_id = m.workspace_id AND s.number = m.number;

-- name: LogFoldAppend :exec
INSERT INTO log_fold (workspace_id, event_id, event_digest, removed_ids, signer, signature)
VALUES (@workspace_id, @event_id, @event_digest, @removed_ids, @signer, @signature);

-- name: LogFolds :many
-- The folds that took some of the events away, or that one of them stands for.
SELECT event_id, event_digest, removed_ids, signer, signature FROM log_fold
WHERE workspace_id = @workspace_id AND (removed_ids && @ids::bigint[] OR event_id = ANY(@ids::bigint[]))
ORDER BY event_id;

-- name: EventIDsOfJob :many
SELECT id FROM event WHERE workspace_id = @workspace_id AND job_id = @job_id::uuid ORDER BY id;

-- name: LogEnds :many
-- How far the log of each workspace goes, and how far it is sealed; zero where it has nothing yet.
SELECT w.id AS workspace_id, w.slug, coalesce(e.id, 0)::bigint AS position, coalesce(s.number, 0)::bigint AS block,
    coalesce(s.digest, '')::bytea AS digest
FROM workspace w
LEFT JOIN LATERAL (SELECT l.id FROM event l WHERE l.workspace_id = w.id ORDER BY l.id DESC LIMIT 1) e ON true
LEFT JOIN LATERAL (SELECT h.number, h.digest FROM log_seal h WHERE h.workspace_id = w.id ORDER BY h.number DESC LIMIT 1) s ON true
ORDER BY w.id;

-- name: LogNewest :many
-- The newest events of a log, the newest first, each with the job that it is about; '' where it is about none.
SELECT e.id, coalesce(j.key, '')::text AS job
FROM event e LEFT JOIN job j ON j.workspace_id = e.workspace_id AND j.id = e.job_id
WHERE e.workspace_id = @workspace_id ORDER BY e.id DESC LIMIT @max_rows;
