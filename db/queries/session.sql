-- name: SessionFind :one
SELECT data FROM session WHERE token_hash = @token_hash AND ended_at IS NULL AND expires_at > now();

-- name: SessionCommit :execrows
-- An ended session is not brought back by a request that began before its end.
INSERT INTO session (token_hash, account_id, data, ip, user_agent, expires_at)
VALUES (@token_hash, @account_id, @data, @ip, @user_agent, @expires_at)
ON CONFLICT (token_hash) DO UPDATE SET
    account_id = excluded.account_id, data = excluded.data, ip = excluded.ip,
    user_agent = excluded.user_agent, expires_at = excluded.expires_at, last_seen_at = now()
WHERE session.ended_at IS NULL;

-- name: SessionEnd :exec
UPDATE session SET ended_at = now() WHERE token_hash = @token_hash AND ended_at IS NULL;

-- name: SessionEndOfAccount :exec
UPDATE session SET ended_at = now() WHERE account_id = @account_id AND ended_at IS NULL;

-- name: SessionExpire :execrows
DELETE FROM session WHERE token_hash IN (
    SELECT s.token_hash FROM session s WHERE s.expires_at < now() ORDER BY s.expires_at LIMIT @max_rows);
