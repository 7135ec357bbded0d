-- name: IdentityLogIn :one
-- Only the issuer and the subject tell who it is.
UPDATE account_identity i SET last_used_at = now(), email = @email
FROM account a
WHERE i.issuer = @issuer AND i.subject = @subject AND a.id = i.account_id
RETURNING a.id, a.email, a.name, a.session_epoch;

-- name: IdentityOf :one
-- Also an account without an identity at the issuer has a row.
SELECT a.password_hash <> '' AS has_password, i.email, i.created_at, i.last_used_at
FROM account a LEFT JOIN account_identity i ON i.account_id = a.id AND i.issuer = @issuer
WHERE a.id = @account_id;

-- name: IdentityHolder :one
SELECT i.account_id FROM account_identity i WHERE i.issuer = @issuer AND i.subject = @subject;

-- name: IdentityInsert :execrows
INSERT INTO account_identity (issuer, subject, account_id, email)
VALUES (@issuer, @subject, @account_id, @email)
ON CONFLICT DO NOTHING;

-- name: IdentityDelete :one
DELETE FROM account_identity WHERE account_id = @account_id AND issuer = @issuer
RETURNING email;
