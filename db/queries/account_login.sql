-- name: AccountLoginInsert :one
-- The first log in of an account is no news.
INSERT INTO account_login (account_id, id, address, user_agent, network, session_id, news)
SELECT @account_id, @id, @address, @user_agent, @network,
    (SELECT s.id FROM session s WHERE s.token_hash = @token_hash),
    EXISTS (SELECT 1 FROM account_login l WHERE l.account_id = @account_id)
        AND (NOT @known_device::boolean OR NOT EXISTS (SELECT 1 FROM account_login l
            WHERE l.account_id = @account_id AND l.network = @network))
RETURNING news;

-- name: AccountLoginNews :many
-- Those of a month that nobody has said anything about, but that of the session
-- that asks.
SELECT l.id, l.at, l.address, l.user_agent FROM account_login l
WHERE l.account_id = @account_id AND l.news AND l.settled_at IS NULL AND l.at > now() - interval '30 days'
    AND l.session_id IS DISTINCT FROM (SELECT s.id FROM session s WHERE s.token_hash = @token_hash)
ORDER BY l.at DESC, l.id LIMIT 5;

-- name: AccountLoginSettle :one
-- A session says nothing about its own log in.
UPDATE account_login l SET settled_at = now()
WHERE l.account_id = @account_id AND l.id = @id AND l.settled_at IS NULL
    AND l.session_id IS DISTINCT FROM (SELECT s.id FROM session s WHERE s.token_hash = @token_hash)
RETURNING l.session_id, l.address;

-- name: AccountLoginExpire :execrows
DELETE FROM account_login WHERE (account_id, id) IN (
    SELECT l.account_id, l.id FROM account_login l WHERE l.at < now() - interval '90 days' ORDER BY l.at LIMIT @max_rows);
