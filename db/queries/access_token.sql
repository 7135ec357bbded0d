-- name: AccessTokenInsert :exec
INSERT INTO access_token (workspace_id, id, kind, name, token_hash, hint, account_id,
    products, capabilities, factory, created_by, expires_at)
VALUES (@workspace_id, @id, @kind, @name, @token_hash, @hint, @account_id,
    @products, @capabilities, @factory, @created_by, @expires_at);

-- name: AccessTokenByHash :one
SELECT t.workspace_id, t.id, t.kind, t.name, t.account_id, t.products, t.capabilities, t.factory,
    (t.revoked_at IS NOT NULL)::boolean AS revoked,
    (t.expires_at IS NOT NULL AND t.expires_at <= now())::boolean AS expired,
    (t.last_used_at IS NULL OR t.last_used_at < now() - interval '1 minute')::boolean AS use_is_old
FROM access_token t WHERE t.token_hash = @token_hash;

-- name: AccessTokenUsed :exec
UPDATE access_token SET last_used_at = now()
WHERE workspace_id = @workspace_id AND id = @id
    AND (last_used_at IS NULL OR last_used_at < now() - interval '1 minute');

-- name: AccessTokenRevoke :execrows
-- The own tokens of an account, or any where any_owner is true. A token that
-- was revoked before keeps its time.
UPDATE access_token SET revoked_at = coalesce(revoked_at, now())
WHERE workspace_id = @workspace_id AND id = @id AND (@any_owner::boolean OR account_id = @account_id::uuid);

-- name: AccessTokenRevokeNamed :exec
UPDATE access_token SET revoked_at = now()
WHERE workspace_id = @workspace_id AND kind = @kind AND name = @name AND revoked_at IS NULL;
