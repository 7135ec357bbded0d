-- name: VaultKeyNewest :many
-- The key that writes, kept from being retired until the transaction ends. No
-- row where there is none, or where a newer one has just taken its place.
SELECT id, wrapped, server_key FROM workspace_key
WHERE workspace_id = @workspace_id AND retired_at IS NULL
ORDER BY id DESC LIMIT 1 FOR KEY SHARE;

-- name: VaultKeysByID :many
SELECT id, wrapped, server_key FROM workspace_key WHERE workspace_id = @workspace_id AND id = ANY(@ids::int[]);

-- name: VaultKeyHighest :one
SELECT coalesce(max(id), 0)::int FROM workspace_key WHERE workspace_id = @workspace_id;

-- name: VaultKeyInsert :execrows
-- No row means that somebody else has just made it.
INSERT INTO workspace_key (workspace_id, id, wrapped, server_key)
VALUES (@workspace_id, @id, @wrapped, @server_key) ON CONFLICT DO NOTHING;

-- name: VaultKeyLock :many
-- Waits for whoever writes with a key that is to be retired.
SELECT id, moved FROM workspace_key
WHERE workspace_id = @workspace_id AND id = @id AND retired_at IS NULL FOR UPDATE;

-- name: VaultKeyRetire :execrows
UPDATE workspace_key SET retired_at = now() WHERE workspace_id = @workspace_id AND id = @id AND retired_at IS NULL;

-- name: VaultKeyMoved :exec
UPDATE workspace_key SET moved = moved + @values::bigint WHERE workspace_id = @workspace_id AND id = @id;

-- name: VaultKeyList :many
-- Every generation of a workspace, the newest first, with how many values each
-- has sealed, counted up to a limit.
SELECT k.id, k.server_key, k.moved, k.made_at, k.retired_at, clock_timestamp()::timestamptz AS now, (SELECT count(*) FROM (
    (SELECT 1 FROM job_secret s WHERE s.workspace_id = k.workspace_id AND s.key_id = k.id LIMIT @most)
    UNION ALL (SELECT 1 FROM blob_data d WHERE d.workspace_id = k.workspace_id AND d.key_id = k.id LIMIT @most)
    UNION ALL (SELECT 1 FROM webhook w WHERE w.workspace_id = k.workspace_id AND w.key_id = k.id LIMIT @most)
    UNION ALL (SELECT 1 FROM webhook w WHERE w.workspace_id = k.workspace_id AND w.old_key_id = k.id LIMIT @most)) few)::int AS sealed
FROM workspace_key k WHERE k.workspace_id = @workspace_id ORDER BY k.id DESC LIMIT @max_rows;

-- name: VaultKeysOld :many
-- The live keys of a workspace that no longer write, the oldest first.
SELECT k.id FROM workspace_key k WHERE k.workspace_id = @workspace_id AND k.retired_at IS NULL
    AND k.id < (SELECT max(n.id) FROM workspace_key n WHERE n.workspace_id = @workspace_id AND n.retired_at IS NULL)
ORDER BY k.id;

-- name: VaultRotating :many
-- For the system role: the workspaces in which more than one key lives.
SELECT workspace_id FROM workspace_key WHERE retired_at IS NULL
GROUP BY workspace_id HAVING count(*) > 1 ORDER BY workspace_id;

-- name: VaultWrappedBy :many
-- For the system role: workspaces with a data key that one of these keys of the
-- server wraps.
SELECT DISTINCT workspace_id FROM workspace_key
WHERE server_key = ANY(@server_keys::bytea[]) AND workspace_id > @after ORDER BY workspace_id LIMIT @max_rows;

-- name: VaultKeysWrappedBy :many
SELECT id, wrapped FROM workspace_key
WHERE workspace_id = @workspace_id AND server_key = ANY(@server_keys::bytea[]) ORDER BY id;

-- name: VaultLocked :one
-- For the system role: how many data keys none of these keys of the server wraps.
SELECT count(*)::int FROM workspace_key WHERE server_key <> ALL(@server_keys::bytea[]);

-- name: VaultKeyRewrap :execrows
-- Nothing happens where another process has wrapped it meanwhile.
UPDATE workspace_key SET wrapped = @wrapped, server_key = @server_key
WHERE workspace_id = @workspace_id AND id = @id AND wrapped = @old_wrapped;
