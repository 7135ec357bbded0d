-- name: LaneIntern :one
-- The lane of a set of needs, made where it is new.
WITH made AS (
    INSERT INTO lane (workspace_id, product_id, needs, factory, digest)
    VALUES (@workspace_id, @product_id, @needs, @factory, @digest)
    ON CONFLICT (workspace_id, digest) DO NOTHING RETURNING id
)
SELECT id FROM made
UNION ALL
SELECT id FROM lane WHERE workspace_id = @workspace_id AND digest = @digest
LIMIT 1;

-- name: LaneByDigest :one
SELECT id FROM lane WHERE workspace_id = @workspace_id AND digest = @digest;

-- name: LaneList :many
-- The lanes with higher ids than the given one.
SELECT id, product_id, needs, factory FROM lane WHERE workspace_id = @workspace_id AND id > @after ORDER BY id;

-- name: LaneOfProduct :many
-- The lanes of a product. Each of its jobs is in one of them.
SELECT id FROM lane WHERE workspace_id = @workspace_id AND product_id = @product_id;
