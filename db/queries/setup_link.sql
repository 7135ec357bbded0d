-- name: SetupLinkInsert :exec
INSERT INTO setup_link (token_hash, account_id, expires_at)
VALUES (@token_hash, @account_id, now() + make_interval(secs => @valid_seconds::double precision));

-- name: SetupLinkValid :one
SELECT EXISTS (
    SELECT 1 FROM setup_link WHERE token_hash = @token_hash AND used_at IS NULL AND expires_at > now()
) AS valid;

-- name: SetupLinkUse :one
UPDATE setup_link SET used_at = now()
WHERE token_hash = @token_hash AND used_at IS NULL AND expires_at > now()
RETURNING account_id;

-- name: SetupLinkEndOfAccount :exec
DELETE FROM setup_link WHERE account_id = @account_id AND used_at IS NULL;

-- name: SetupLinkExpire :execrows
DELETE FROM setup_link WHERE token_hash IN (
    SELECT l.token_hash FROM setup_link l WHERE l.expires_at < now() LIMIT @max_rows);
