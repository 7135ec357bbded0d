-- name: BlobSeals :one
-- Whether an agent holds a job with secret inputs.
SELECT EXISTS (SELECT FROM job_lease l JOIN job_secret s ON s.workspace_id = l.workspace_id AND s.job_id = l.job_id
    WHERE l.workspace_id = @workspace_id AND l.agent_id = @agent_id)::bool;

-- name: BlobRoomOpen :exec
INSERT INTO blob_room (workspace_id, bytes) VALUES (@workspace_id, 0) ON CONFLICT DO NOTHING;

-- name: BlobRoomTake :execrows
-- No row where there is not that much left.
UPDATE blob_room SET bytes = bytes + @bytes::bigint
WHERE workspace_id = @workspace_id AND bytes + @bytes::bigint <= @most::bigint;

-- name: BlobRoomGive :exec
UPDATE blob_room SET bytes = bytes - @bytes::bigint WHERE workspace_id = @workspace_id;

-- name: BlobDataInsert :exec
INSERT INTO blob_data (workspace_id, id, store, key_id, sealed_key, expires_at)
VALUES (@workspace_id, @id, @store, @key_id, @sealed_key, now() + make_interval(secs => @seconds::double precision));

-- name: BlobDataGrow :execrows
-- Counts more bytes of an upload that goes on. No row where it has expired.
UPDATE blob_data SET counted = counted + @bytes::bigint, expires_at = now() + make_interval(secs => @seconds::double precision)
WHERE workspace_id = @workspace_id AND id = @id AND expires_at > now();

-- name: BlobDataKeep :execrows
-- Ends an upload with its bytes kept. No row where it has expired.
UPDATE blob_data SET size = @size, digests = @digests, expires_at = NULL
WHERE workspace_id = @workspace_id AND id = @id AND expires_at > now();

-- name: BlobDataDrop :one
-- Gives up bytes that no blob names, once the seconds are over, and returns what they took
-- of the workspace's room.
UPDATE blob_data d SET counted = 0, expires_at = now() + make_interval(secs => @seconds::double precision)
FROM (SELECT o.workspace_id, o.id, o.counted FROM blob_data o
    WHERE o.workspace_id = @workspace_id AND o.id = @id FOR UPDATE) AS before
WHERE d.workspace_id = before.workspace_id AND d.id = before.id
RETURNING before.counted;

-- name: BlobName :one
-- Names bytes that were stored, or returns those that have the name.
INSERT INTO blob AS b (workspace_id, sha256, data_id, size, put_by)
VALUES (@workspace_id, @sha256, @data_id, @size, @put_by)
ON CONFLICT (workspace_id, sha256) DO UPDATE SET free_since = now()
RETURNING b.data_id, b.damaged_at, b.created_at,
    (SELECT d.key_id IS NOT NULL FROM blob_data d WHERE d.workspace_id = b.workspace_id AND d.id = b.data_id)::bool AS sealed;

-- name: BlobReplace :exec
UPDATE blob SET data_id = @data_id, damaged_at = NULL WHERE workspace_id = @workspace_id AND sha256 = @sha256;

-- name: BlobPutterSave :exec
INSERT INTO blob_putter (workspace_id, sha256, agent_id) VALUES (@workspace_id, @sha256, @agent_id)
ON CONFLICT (workspace_id, sha256, agent_id) DO UPDATE SET put_at = now();

-- name: BlobPutSince :one
-- Whether an agent has put a content since a time.
SELECT EXISTS (SELECT FROM blob_putter WHERE workspace_id = @workspace_id AND sha256 = @sha256 AND agent_id = @agent_id
    AND put_at >= @since)::bool;

-- name: BlobGet :one
SELECT b.size, b.created_at, b.data_id, d.store, d.digests, d.key_id, d.sealed_key,
    EXISTS (SELECT FROM blob_putter p WHERE p.workspace_id = b.workspace_id AND p.sha256 = b.sha256
        AND p.agent_id = @agent_id)::bool AS put_by_agent
FROM blob b JOIN blob_data d ON d.workspace_id = b.workspace_id AND d.id = b.data_id
WHERE b.workspace_id = @workspace_id AND b.sha256 = @sha256;

-- name: BlobSizes :many
SELECT sha256, size FROM blob WHERE workspace_id = @workspace_id AND sha256 = ANY(@list::bytea[]);

-- name: BlobLock :one
-- Keeps a blob from being collected until the transaction ends.
SELECT EXISTS (SELECT FROM blob_putter p WHERE p.workspace_id = b.workspace_id AND p.sha256 = b.sha256
    AND p.agent_id = @agent_id)::bool AS put_by_agent
FROM blob b WHERE b.workspace_id = @workspace_id AND b.sha256 = @sha256 FOR KEY SHARE;

-- name: BlobRefs :many
-- Jobs and messages that refer to a blob, the newest first.
SELECT job_id, message_id FROM blob_ref
WHERE workspace_id = @workspace_id AND sha256 = @sha256 AND archive_id IS NULL ORDER BY id DESC LIMIT @max_rows;

-- name: JobScopes :many
-- What a token's scope is about, of jobs: the product, what the job needs, and the
-- factory of its lease.
SELECT p.name AS product, j.capabilities, coalesce(l.factory, '')::text AS factory
FROM job j JOIN product p ON p.workspace_id = j.workspace_id AND p.id = j.product_id
LEFT JOIN job_lease l ON l.workspace_id = j.workspace_id AND l.job_id = j.id
WHERE j.workspace_id = @workspace_id AND j.id = ANY(@jobs::uuid[]);

-- name: BlobRefInsert :exec
INSERT INTO blob_ref (workspace_id, sha256, job_id, message_id, archive_id)
VALUES (@workspace_id, @sha256, @job_id, @message_id, @archive_id)
ON CONFLICT DO NOTHING;

-- name: BlobRefDropMessages :exec
DELETE FROM blob_ref WHERE workspace_id = @workspace_id AND message_id = ANY(@messages::uuid[]);

-- name: BlobDamaged :exec
UPDATE blob SET damaged_at = now() WHERE workspace_id = @workspace_id AND sha256 = @sha256 AND data_id = @data_id;

-- name: BlobChunkInsert :exec
INSERT INTO blob_chunk (workspace_id, data_id, n, data)
SELECT @workspace_id, @data_id, unnest(@numbers::int[]), unnest(@pieces::bytea[]);

-- name: BlobChunkList :many
SELECT n, data FROM blob_chunk
WHERE workspace_id = @workspace_id AND data_id = @data_id AND n >= @first::int AND n < @past::int ORDER BY n;

-- name: BlobChunkDelete :execrows
-- Deletes some of the pieces.
DELETE FROM blob_chunk c WHERE c.workspace_id = @workspace_id AND c.data_id = @data_id
    AND c.n IN (SELECT o.n FROM blob_chunk o WHERE o.workspace_id = @workspace_id AND o.data_id = @data_id LIMIT @max_rows);

-- name: BlobCollectWorkspaces :many
-- For the system role: the workspaces in which there is something to collect.
SELECT workspace_id FROM blob WHERE free_since < now() - make_interval(secs => @grace_seconds::double precision)
UNION SELECT workspace_id FROM blob_data WHERE expires_at <= now()
ORDER BY workspace_id LIMIT @max_rows;

-- name: BlobFreeLock :many
-- Blobs that may have been free for longer than the grace; whoever names one of them at
-- this moment keeps it.
SELECT sha256 FROM blob
WHERE workspace_id = @workspace_id AND free_since < now() - make_interval(secs => @grace_seconds::double precision)
ORDER BY free_since LIMIT @max_rows FOR UPDATE SKIP LOCKED;

-- name: BlobFreeNot :exec
-- Of locked blobs, those that something refers to.
UPDATE blob b SET free_since = NULL
WHERE b.workspace_id = @workspace_id AND b.sha256 = ANY(@list::bytea[])
    AND EXISTS (SELECT FROM blob_ref r WHERE r.workspace_id = b.workspace_id AND r.sha256 = b.sha256);

-- name: BlobDelete :many
-- Of locked blobs, those that nothing refers to.
DELETE FROM blob b WHERE b.workspace_id = @workspace_id AND b.sha256 = ANY(@list::bytea[])
    AND NOT EXISTS (SELECT FROM blob_ref r WHERE r.workspace_id = b.workspace_id AND r.sha256 = b.sha256)
RETURNING b.data_id;

-- name: BlobDataExpired :many
-- Takes bytes of some stores that have expired out of the reach of uploads.
UPDATE blob_data d SET expires_at = '-infinity'
FROM (SELECT o.id FROM blob_data o WHERE o.workspace_id = @workspace_id AND o.expires_at <= now()
        AND o.store = ANY(@stores::text[])
    ORDER BY o.expires_at LIMIT @max_rows FOR UPDATE SKIP LOCKED) AS old
WHERE d.workspace_id = @workspace_id AND d.id = old.id
RETURNING d.id, d.store;

-- name: BlobDataDelete :many
DELETE FROM blob_data WHERE workspace_id = @workspace_id AND id = @id AND expires_at = '-infinity' RETURNING counted;

-- name: BlobSealedBy :many
-- Sealed keys of bytes under one of the workspace's keys, after an id.
SELECT id, sealed_key FROM blob_data WHERE workspace_id = @workspace_id AND key_id = @key_id AND id > @after
ORDER BY id LIMIT @max_rows;

-- name: BlobReseal :execrows
-- Nothing happens where another process has sealed it anew meanwhile.
UPDATE blob_data SET key_id = @key_id, sealed_key = @sealed_key
WHERE workspace_id = @workspace_id AND id = @id AND sealed_key = @old_sealed_key;
