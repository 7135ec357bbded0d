-- name: AccountInsert :exec
INSERT INTO account (id, email, name) VALUES (@id, @email, @name);

-- name: AccountByEmail :one
SELECT a.id, a.email, a.name, a.password_hash, a.session_epoch, (t.confirmed_at IS NOT NULL)::boolean AS second_factor
FROM account a LEFT JOIN account_totp t ON t.account_id = a.id
WHERE a.email = @email;

-- name: AccountProfile :one
SELECT a.email, a.name, a.password_hash, t.confirmed_at AS second_factor_at,
    (SELECT count(*) FROM recovery_code r WHERE r.account_id = a.id AND r.used_at IS NULL) AS codes_left
FROM account a LEFT JOIN account_totp t ON t.account_id = a.id
WHERE a.id = @id;

-- name: AccountSessionEpoch :one
SELECT session_epoch FROM account WHERE id = @id;

-- name: AccountRename :exec
UPDATE account SET name = @name, updated_at = now() WHERE id = @id;

-- name: AccountPassword :one
-- Only while the password is still the one that was just checked, or is none.
-- Every session of before ends with it.
UPDATE account SET password_hash = @password_hash, session_epoch = session_epoch + 1, updated_at = now()
WHERE id = @id AND password_hash = @old_hash
RETURNING session_epoch;

-- name: AccountEndSessions :exec
UPDATE account SET session_epoch = session_epoch + 1 WHERE id = @id;

-- name: AccountSetUp :exec
UPDATE account SET email = @email, name = @name, password_hash = @password_hash,
    session_epoch = session_epoch + 1, updated_at = now()
WHERE id = @id;

-- name: AccountSetUpFirst :execrows
-- Only an account without a password: no start of the server changes one that
-- a person chose.
UPDATE account SET email = @email, password_hash = @password_hash, updated_at = now()
WHERE id = @id AND password_hash = '';

-- name: AccountRehash :exec
-- Only while the password is still the one that was just checked.
UPDATE account SET password_hash = @password_hash, updated_at = now()
WHERE id = @id AND password_hash = @old_hash;
