-- name: CoordinatorLogAdd :exec
INSERT INTO coordinator_log (workspace_id, instance_id, term, level, message, details)
VALUES (sqlc.narg('workspace_id')::uuid, @instance_id, @term, @level, @message, @details);

-- name: CoordinatorLogList :many
-- The lines of a workspace and those of the server as a whole, newest first: the
-- newest of each, so that the lines of other workspaces are not read past. Looks at
-- most at max_scan lines, and gives those of the levels and the last one, fitting or
-- not: it says how far was looked.
WITH looked AS MATERIALIZED (
    SELECT l.* FROM (
        (SELECT o.* FROM coordinator_log o WHERE o.workspace_id = @workspace_id::uuid AND o.id < @before
        ORDER BY o.id DESC LIMIT @max_scan)
        UNION ALL
        (SELECT s.* FROM coordinator_log s WHERE s.workspace_id IS NULL AND s.id < @before
        ORDER BY s.id DESC LIMIT @max_scan)
    ) l ORDER BY l.id DESC LIMIT @max_scan
), fitting AS (
    SELECT k.id FROM looked k WHERE k.level = ANY(@levels::text[]) ORDER BY k.id DESC LIMIT @max_rows
)
SELECT l.id, l.workspace_id, l.at, l.instance_id, l.term, l.level, l.message, l.details,
    (SELECT count(*) FROM looked)::int AS looked
FROM looked l WHERE l.id IN (SELECT f.id FROM fitting f) OR l.id = (SELECT min(m.id) FROM looked m)
ORDER BY l.id DESC;

-- name: CoordinatorLogExpire :execrows
-- Deletes old lines: those of the transaction's workspace and of the server.
DELETE FROM coordinator_log WHERE id IN (
    SELECT o.id FROM coordinator_log o WHERE o.at < now() - make_interval(days => @days::int)
    ORDER BY o.at LIMIT @max_rows);

-- name: CoordinatorLogOldWorkspaces :many
-- For the system role: the workspaces of the oldest of the old lines.
SELECT DISTINCT o.workspace_id::uuid AS workspace_id FROM (
    SELECT l.workspace_id FROM coordinator_log l WHERE l.at < now() - make_interval(days => @days::int)
    ORDER BY l.at LIMIT @max_rows
) o WHERE o.workspace_id IS NOT NULL;

-- name: AgentHealthWorkspaces :many
-- The workspaces in which an agent's health is not what was told last.
SELECT DISTINCT a.workspace_id FROM agent a
WHERE a.terminated_at IS NULL AND a.health_told <> agent_health(a.last_heartbeat_at, a.dead_after_seconds, now());

-- name: AgentHealthTell :many
-- Marks in one workspace as told what changed since it was told last. An agent
-- whose row somebody holds is about to give a sign of life: the next look sees it.
WITH turned AS MATERIALIZED (
    SELECT a.id, a.health_told AS before, agent_health(a.last_heartbeat_at, a.dead_after_seconds, now()) AS after
    FROM agent a
    WHERE a.workspace_id = @workspace_id AND a.terminated_at IS NULL
        AND a.health_told <> agent_health(a.last_heartbeat_at, a.dead_after_seconds, now())
    ORDER BY a.name LIMIT @max_rows FOR NO KEY UPDATE SKIP LOCKED
), told AS (
    UPDATE agent a SET health_told = t.after FROM turned t WHERE a.workspace_id = @workspace_id AND a.id = t.id
    RETURNING a.name, a.factory_id, a.last_heartbeat_at, t.before, t.after
)
SELECT t.name, f.name AS factory, t.last_heartbeat_at, t.before::text AS before, t.after::text AS after
FROM told t JOIN factory f ON f.workspace_id = @workspace_id AND f.id = t.factory_id
ORDER BY t.name;
