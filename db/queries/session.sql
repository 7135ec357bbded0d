-- name: SessionFind :one
-- A live session, and whether it was last seen so long ago that this is worth a
-- write. One of an account lives as long as the account's epoch is the same.
SELECT s.data, (s.last_seen_at < now() - interval '1 minute')::boolean AS seen_long_ago
FROM session s LEFT JOIN account a ON a.id = s.account_id
WHERE s.token_hash = @token_hash AND s.ended_at IS NULL AND s.expires_at > now()
    AND s.last_seen_at > now() - make_interval(secs => @idle_seconds::double precision)
    AND (s.account_id IS NULL OR s.epoch = a.session_epoch);

-- name: SessionSeen :exec
-- At most once a minute, however many requests ask at once; never an upsert.
UPDATE session SET last_seen_at = now()
WHERE token_hash = @token_hash AND ended_at IS NULL AND last_seen_at < now() - interval '1 minute';

-- name: SessionCommit :execrows
-- An ended session is not brought back by a request that began before its end,
-- and none gets a later epoch than it began in.
INSERT INTO session (token_hash, account_id, epoch, half, data, ip, user_agent, expires_at)
VALUES (@token_hash, @account_id, @epoch, @half, @data, @ip, @user_agent, @expires_at)
ON CONFLICT (token_hash) DO UPDATE SET
    account_id = excluded.account_id, half = excluded.half, data = excluded.data, ip = excluded.ip,
    user_agent = excluded.user_agent, expires_at = excluded.expires_at, last_seen_at = now()
WHERE session.ended_at IS NULL;

-- name: SessionList :many
-- The live ones of an account, the one that asks first.
SELECT s.id, s.ip AS address, s.user_agent, s.created_at AS since, s.last_seen_at AS last_seen, (s.token_hash = @token_hash)::boolean AS this
FROM session s JOIN account a ON a.id = s.account_id
WHERE s.account_id = @account_id AND NOT s.half AND s.ended_at IS NULL AND s.expires_at > now()
    AND s.last_seen_at > now() - make_interval(secs => @idle_seconds::double precision)
    AND s.epoch = a.session_epoch
ORDER BY s.token_hash = @token_hash DESC, s.last_seen_at DESC, s.id
LIMIT 100;

-- name: SessionEnd :execrows
UPDATE session SET ended_at = now() WHERE token_hash = @token_hash AND ended_at IS NULL;

-- name: SessionEndOne :execrows
UPDATE session SET ended_at = now()
WHERE id = @id AND account_id = @account_id AND NOT half AND ended_at IS NULL AND expires_at > now();

-- name: SessionEndOthers :one
-- Ends all of an account but one, half ones too, and counts the whole ones that
-- were live.
WITH ended AS (
    UPDATE session SET ended_at = now()
    WHERE account_id = @account_id AND token_hash <> @token_hash AND ended_at IS NULL
    RETURNING half, expires_at, last_seen_at
)
SELECT count(*) FROM ended WHERE NOT half AND expires_at > now()
    AND last_seen_at > now() - make_interval(secs => @idle_seconds::double precision);

-- name: SessionEndOfAccount :exec
UPDATE session SET ended_at = now() WHERE account_id = @account_id AND ended_at IS NULL;

-- name: SessionExpire :execrows
DELETE FROM session WHERE token_hash IN (
    SELECT s.token_hash FROM session s WHERE s.expires_at < now() ORDER BY s.expires_at LIMIT @max_rows);
