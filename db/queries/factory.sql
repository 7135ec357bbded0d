-- name: FactoryUpsert :one
INSERT INTO factory (workspace_id, id, name, os, host, engines, capabilities, repos, seats)
VALUES (@workspace_id, @id, @name, @os, @host, @engines, @capabilities, @repos, @seats)
ON CONFLICT (workspace_id, name) DO UPDATE SET os = excluded.os, host = excluded.host, engines = excluded.engines,
    capabilities = excluded.capabilities, repos = excluded.repos, seats = excluded.seats, updated_at = now()
RETURNING id;

-- name: FactoryUpdate :exec
-- Writes only what differs: a heartbeat that repeats itself costs nothing.
UPDATE factory SET os = @os, host = @host, engines = @engines, capabilities = @capabilities, repos = @repos,
    seats = @seats, updated_at = now()
WHERE workspace_id = @workspace_id AND name = @name
    AND (os, host, engines, capabilities, repos, seats)
        IS DISTINCT FROM (@os, @host, @engines, @capabilities, @repos::jsonb, @seats);

-- name: FactoryList :many
SELECT f.id, f.name, f.os, f.host, f.engines, f.capabilities, f.repos, f.seats, f.draining, f.drained_by, f.drained_at,
    f.created_at, f.updated_at, clock_timestamp()::timestamptz AS now
FROM factory f WHERE f.workspace_id = @workspace_id ORDER BY f.name;

-- name: FactoryLock :one
-- Serialises the claims of one factory, so that its seats are counted right.
SELECT f.id FROM factory f WHERE f.workspace_id = @workspace_id AND f.id = @id FOR NO KEY UPDATE;

-- name: FactorySetDraining :one
UPDATE factory SET draining = @draining,
    drained_by = CASE WHEN @draining THEN @actor::text ELSE '' END,
    drained_at = CASE WHEN @draining THEN now() END, updated_at = now()
WHERE workspace_id = @workspace_id AND name = @name AND draining <> @draining
RETURNING id;
