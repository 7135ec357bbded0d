-- name: TrustedIssuerList :many
-- By name, with what agents may that register by it.
SELECT i.id, i.name, i.issuer, i.audience, i.claims, i.token_id, i.created_by, i.created_at, t.products, t.capabilities, t.factory,
    t.roles, t.may_submit, t.last_used_at, (t.revoked_at IS NULL)::boolean AS live, now()::timestamptz AS now
FROM trusted_issuer i
JOIN access_token t ON t.workspace_id = i.workspace_id AND t.id = i.token_id
WHERE i.workspace_id = @workspace_id AND (@name::text = '' OR i.name = @name)
ORDER BY i.name
LIMIT @max_rows;

-- name: TrustedIssuerRule :one
-- What a token has to say.
SELECT issuer, audience, claims FROM trusted_issuer WHERE workspace_id = @workspace_id AND id = @id;

-- name: TrustedIssuerInsert :exec
INSERT INTO trusted_issuer (workspace_id, id, name, issuer, audience, claims, token_id, created_by)
VALUES (@workspace_id, @id, @name, @issuer, @audience, @claims, @token_id, @created_by);

-- name: TrustedIssuerDelete :exec
DELETE FROM trusted_issuer WHERE workspace_id = @workspace_id AND id = @id;

-- name: WorkloadTokenUse :one
-- Which agent a token registers: the first that it was used for.
INSERT INTO workload_token AS w (workspace_id, issuer_id, token_hash, agent, expires_at)
VALUES (@workspace_id, @issuer_id, @token_hash, @agent, @expires_at)
ON CONFLICT (workspace_id, issuer_id, token_hash) DO UPDATE SET expires_at = w.expires_at
RETURNING agent;

-- name: WorkloadTokenExpire :exec
-- Those that have ended, some at a time.
DELETE FROM workload_token d WHERE d.workspace_id = @workspace_id AND (d.issuer_id, d.token_hash) IN (
    SELECT w.issuer_id, w.token_hash FROM workload_token w
    WHERE w.workspace_id = @workspace_id AND w.expires_at < now() - interval '5 minutes'
    ORDER BY w.expires_at LIMIT 100);
