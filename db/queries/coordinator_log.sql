-- name: CoordinatorLogAdd :exec
INSERT INTO coordinator_log (workspace_id, instance_id, term, level, message, details)
VALUES (sqlc.narg('workspace_id')::uuid, @instance_id, @term, @level, @message, @details);

-- name: CoordinatorLogList :many
-- The lines of a workspace and those of the server as a whole, newest first.
SELECT id, workspace_id, at, instance_id, term, level, message, details FROM coordinator_log
WHERE (workspace_id = @workspace_id::uuid OR workspace_id IS NULL) AND id < @before
ORDER BY id DESC LIMIT @max_rows;

-- name: CoordinatorLogExpire :execrows
-- Deletes old lines: those of the transaction's workspace and of the server.
DELETE FROM coordinator_log WHERE id IN (
    SELECT o.id FROM coordinator_log o WHERE o.at < now() - make_interval(days => @days::int)
    ORDER BY o.at LIMIT @max_rows);

-- name: AgentHealthCrossings :many
-- The workspaces in which an agent became late, stale or dead between two times:
-- a tenth, a third and all of the time after which it counts as dead.
SELECT DISTINCT a.workspace_id FROM agent a, unnest(ARRAY[0.1, 1 / 3.0, 1]::float8[]) AS s(share)
WHERE a.last_heartbeat_at + make_interval(secs => a.dead_after_seconds * s.share) > @since::timestamptz
    AND a.last_heartbeat_at + make_interval(secs => a.dead_after_seconds * s.share) <= @until::timestamptz;

-- name: AgentDeaths :many
-- The agents of a workspace that died between two times.
SELECT a.name, f.name AS factory, a.last_heartbeat_at FROM agent a
JOIN factory f ON f.workspace_id = a.workspace_id AND f.id = a.factory_id
WHERE a.workspace_id = @workspace_id AND a.terminated_at IS NULL
    AND a.last_heartbeat_at + make_interval(secs => a.dead_after_seconds) > @since::timestamptz
    AND a.last_heartbeat_at + make_interval(secs => a.dead_after_seconds) <= @until::timestamptz
ORDER BY a.name LIMIT @max_rows;
