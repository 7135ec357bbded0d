-- name: AccountInsert :exec
INSERT INTO account (id, email, name) VALUES (@id, @email, @name);

-- name: AccountByEmail :one
SELECT id, email, name, password_hash FROM account WHERE email = @email;

-- name: AccountSetUp :exec
UPDATE account SET email = @email, name = @name, password_hash = @password_hash, updated_at = now()
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
