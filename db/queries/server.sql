-- name: ServerSee :exec
-- Notes that a server lives.
INSERT INTO server (name, version) VALUES (@name, @version)
ON CONFLICT (name) DO UPDATE SET seen_at = clock_timestamp();

-- name: ServerList :many
-- The servers that were seen lately, the oldest first.
SELECT s.name, s.version, s.started_at FROM server s
WHERE s.seen_at > clock_timestamp() - make_interval(secs => @lately_seconds::float8)
ORDER BY s.started_at, s.name;

-- name: ServerEnd :exec
DELETE FROM server WHERE name = @name;

-- name: ServerForget :exec
-- Deletes the servers that were not seen for a day.
DELETE FROM server WHERE seen_at < clock_timestamp() - interval '1 day';
