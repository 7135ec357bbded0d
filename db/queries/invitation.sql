-- name: InvitationInsert :one
INSERT INTO invitation (workspace_id, id, email, role, token_hash, hint, invited_by, expires_at)
VALUES (@workspace_id, @id, @email, @role, @token_hash, @hint, @invited_by,
    now() + make_interval(secs => @valid_seconds::double precision))
RETURNING expires_at;

-- name: InvitationWorkspace :one
-- Where an open link leads, in the transaction of its hash.
SELECT workspace_id FROM invitation
WHERE token_hash = @token_hash AND used_at IS NULL AND revoked_at IS NULL AND expires_at > now();

-- name: InvitationOpen :one
-- An open link with what its holder is shown.
SELECT i.id, i.email, i.role, i.expires_at, w.name AS workspace_name, a.name AS invited_by
FROM invitation i
JOIN workspace w ON w.id = i.workspace_id
JOIN account a ON a.id = i.invited_by
WHERE i.workspace_id = @workspace_id AND i.token_hash = @token_hash
    AND i.used_at IS NULL AND i.revoked_at IS NULL AND i.expires_at > now();

-- name: InvitationUse :one
UPDATE invitation SET used_at = now()
WHERE workspace_id = @workspace_id AND token_hash = @token_hash
    AND used_at IS NULL AND revoked_at IS NULL AND expires_at > now()
RETURNING id, email, role;

-- name: InvitationList :many
-- The open ones, newest first; expired ones too until they are replaced or taken
-- back, so that somebody sees that nobody came.
SELECT i.id, i.email, i.role, i.hint, i.created_at, i.expires_at, (i.expires_at <= now())::boolean AS expired, a.name AS invited_by
FROM invitation i JOIN account a ON a.id = i.invited_by
WHERE i.workspace_id = @workspace_id AND i.used_at IS NULL AND i.revoked_at IS NULL
ORDER BY i.created_at DESC, i.id;

-- name: InvitationGet :one
SELECT email, role FROM invitation
WHERE workspace_id = @workspace_id AND id = @id AND used_at IS NULL AND revoked_at IS NULL;

-- name: InvitationRevoke :execrows
UPDATE invitation SET revoked_at = now()
WHERE workspace_id = @workspace_id AND id = @id AND used_at IS NULL AND revoked_at IS NULL;

-- name: InvitationReplace :exec
-- The person's older link.
UPDATE invitation SET revoked_at = now()
WHERE workspace_id = @workspace_id AND email = @email AND used_at IS NULL AND revoked_at IS NULL;

-- name: InvitationCount :one
SELECT count(*) FROM (
    SELECT 1 FROM invitation WHERE workspace_id = @workspace_id AND used_at IS NULL AND revoked_at IS NULL LIMIT @max_rows) AS open;

-- name: InvitationsEndOf :many
-- The links of a member who may not give those roles any more.
UPDATE invitation SET revoked_at = now()
WHERE workspace_id = @workspace_id AND invited_by = @invited_by AND used_at IS NULL AND revoked_at IS NULL
    AND role <> ALL (@still_gives::text[])
RETURNING id, email, role;

-- name: InvitationGuest :one
-- An account that may be in no workspace yet.
SELECT email, name FROM account WHERE id = @id;
