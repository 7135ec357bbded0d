-- name: PoolStartBegin :one
INSERT INTO pool_start (workspace_id, id, pool_id, factory, by_name) VALUES (@workspace_id, @id, @pool_id, @factory, @by_name)
RETURNING *;

-- name: PoolStartRegister :exec
-- A factory has registered that was started for the pool.
UPDATE pool_start s SET registered_at = clock_timestamp()
WHERE s.workspace_id = @workspace_id AND s.factory = @factory AND s.pool_id = @pool_id AND s.ended_at IS NULL AND s.registered_at IS NULL;

-- name: PoolStartDrain :many
-- Notes that a started factory drains, or takes jobs again.
UPDATE pool_start s SET drained_at = CASE WHEN @draining::boolean THEN coalesce(s.drained_at, clock_timestamp()) END
WHERE s.workspace_id = @workspace_id AND s.pool_id = @pool_id AND s.factory = @factory AND s.ended_at IS NULL
RETURNING s.*;

-- name: PoolStartEnd :many
-- Notes that a factory that was started for a pool has ended; none is there where that is known.
UPDATE pool_start s SET ended_at = clock_timestamp(), failed = @failed, detail = @detail
WHERE s.workspace_id = @workspace_id AND s.pool_id = @pool_id AND s.factory = @factory AND s.ended_at IS NULL
RETURNING s.*;

-- name: PoolStartSupersede :exec
-- Ends the open start of a factory, for whatever pool it was: it is started again.
UPDATE pool_start s SET ended_at = clock_timestamp(), detail = 'Started again.'
WHERE s.workspace_id = @workspace_id AND s.factory = @factory AND s.ended_at IS NULL;

-- name: PoolStartList :many
-- The newest starts of a pool.
SELECT s.* FROM pool_start s WHERE s.workspace_id = @workspace_id AND s.pool_id = @pool_id
ORDER BY s.started_at DESC, s.id LIMIT @max_rows;

-- name: PoolStartExpire :exec
-- Forgets all but the newest starts of a pool, of those that have ended.
DELETE FROM pool_start s WHERE s.workspace_id = @workspace_id AND s.pool_id = @pool_id AND s.ended_at IS NOT NULL
    AND s.started_at < (SELECT o.started_at FROM pool_start o WHERE o.workspace_id = @workspace_id AND o.pool_id = @pool_id
        ORDER BY o.started_at DESC, o.id OFFSET @keep LIMIT 1);
