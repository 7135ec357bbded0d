-- name: FactoryEnsure :exec
-- A factory that is not there belongs to whoever describes it first.
INSERT INTO factory (workspace_id, id, name, os, host, engines, capabilities, repos, seats, enrolment_id)
VALUES (@workspace_id, @id, @name, @os, @host, @engines, @capabilities, @repos, @seats, sqlc.narg('enrolment_id'))
ON CONFLICT (workspace_id, name) DO NOTHING;

-- name: FactoryOwner :one
SELECT id, enrolment_id FROM factory WHERE workspace_id = @workspace_id AND name = @name FOR NO KEY UPDATE;

-- name: FactoryDescribe :exec
-- Writes only what differs.
UPDATE factory SET os = @os, host = @host, engines = @engines, capabilities = @capabilities, repos = @repos,
    seats = @seats, enrolment_id = sqlc.narg('enrolment_id'), updated_at = now()
WHERE workspace_id = @workspace_id AND id = @id
    AND (os, host, engines, capabilities, repos, seats, enrolment_id)
        IS DISTINCT FROM (@os, @host, @engines, @capabilities, @repos::jsonb, @seats, sqlc.narg('enrolment_id'));

-- name: FactoryUpdate :exec
-- What an agent says of its factory in a heartbeat; nothing where the factory belongs
-- to an enrolment token whose reach the agent's own does not cover. Writes only what
-- differs: a heartbeat that repeats itself costs nothing.
UPDATE factory f SET os = @os, host = @host, engines = @engines, capabilities = @capabilities, repos = @repos,
    seats = @seats, updated_at = now()
WHERE f.workspace_id = @workspace_id AND f.name = @name
    AND (f.os, f.host, f.engines, f.capabilities, f.repos, f.seats)
        IS DISTINCT FROM (@os, @host, @engines, @capabilities, @repos::jsonb, @seats)
    AND (f.enrolment_id IS NOT DISTINCT FROM sqlc.narg('enrolment_id')::uuid
        OR NOT EXISTS (SELECT FROM access_token t
            WHERE t.workspace_id = f.workspace_id AND t.id = f.enrolment_id AND t.revoked_at IS NULL
                AND NOT ((cardinality(@scope_products::text[]) = 0 OR t.products <> '{}' AND t.products <@ @scope_products::text[])
                    AND (cardinality(@scope_capabilities::text[]) = 0
                        OR t.capabilities <> '{}' AND t.capabilities <@ @scope_capabilities::text[]))));

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
