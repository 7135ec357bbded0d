-- name: TotpBegin :execrows
-- A new secret in place of one that was not confirmed.
INSERT INTO account_totp AS t (account_id, sealed) VALUES (@account_id, @sealed)
ON CONFLICT (account_id) DO UPDATE SET sealed = excluded.sealed, last_step = 0, created_at = now()
WHERE t.confirmed_at IS NULL;

-- name: TotpPending :one
-- A secret to confirm, for a quarter of an hour.
SELECT sealed FROM account_totp
WHERE account_id = @account_id AND confirmed_at IS NULL AND created_at > now() - interval '15 minutes';

-- name: TotpConfirm :execrows
-- Only of the secret that the code was checked against.
UPDATE account_totp SET confirmed_at = now(), last_step = @step
WHERE account_id = @account_id AND confirmed_at IS NULL AND sealed = @sealed;

-- name: TotpOf :one
SELECT sealed FROM account_totp WHERE account_id = @account_id AND confirmed_at IS NOT NULL;

-- name: TotpUse :execrows
-- One code is taken once: of many at the same moment the row lets one through.
UPDATE account_totp SET last_step = @step
WHERE account_id = @account_id AND confirmed_at IS NOT NULL AND sealed = @sealed AND last_step < @step;

-- name: TotpReseal :exec
-- The same secret under another key of the server.
UPDATE account_totp SET sealed = @anew WHERE account_id = @account_id AND sealed = @sealed;

-- name: TotpDelete :execrows
DELETE FROM account_totp WHERE account_id = @account_id AND confirmed_at IS NOT NULL;

-- name: RecoveryCodeInsert :exec
INSERT INTO recovery_code (account_id, code_hash)
SELECT @account_id, unnest(@code_hashes::bytea[]);

-- name: RecoveryCodeUse :execrows
UPDATE recovery_code SET used_at = now()
WHERE account_id = @account_id AND code_hash = @code_hash AND used_at IS NULL;

-- name: RecoveryCodeDelete :exec
DELETE FROM recovery_code WHERE account_id = @account_id;
