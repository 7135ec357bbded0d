-- name: WorkspaceIDs :many
SELECT id FROM workspace ORDER BY id;
