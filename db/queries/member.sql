-- name: MemberList :many
SELECT m.account_id, a.name, a.email, m.role, m.created_at, (m.disabled_at IS NOT NULL)::boolean AS disabled
FROM membership m JOIN account a ON a.id = m.account_id
WHERE m.workspace_id = @workspace_id
ORDER BY CASE m.role WHEN 'owner' THEN 1 WHEN 'admin' THEN 2 WHEN 'member' THEN 3 ELSE 4 END, lower(a.name), a.id;

-- name: MemberByEmail :one
SELECT a.name
FROM membership m JOIN account a ON a.id = m.account_id
WHERE m.workspace_id = @workspace_id AND a.email = @email;

-- name: MemberAdd :execrows
-- No row means that the account is a member already.
INSERT INTO membership (workspace_id, account_id, role) VALUES (@workspace_id, @account_id, @role)
ON CONFLICT (workspace_id, account_id) DO NOTHING;

-- name: MemberSetRole :execrows
-- No row means that the role has changed, or that it is the last owner's. The
-- caller holds the lock of the workspace's members.
UPDATE membership m SET role = @role
WHERE m.workspace_id = @workspace_id AND m.account_id = @account_id AND m.role = @old_role
    AND (m.role <> 'owner' OR @role = 'owner' OR EXISTS (SELECT 1 FROM membership o
        WHERE o.workspace_id = m.workspace_id AND o.role = 'owner' AND o.disabled_at IS NULL AND o.account_id <> m.account_id));

-- name: MemberDelete :execrows
-- As MemberSetRole.
DELETE FROM membership m
WHERE m.workspace_id = @workspace_id AND m.account_id = @account_id AND m.role = @old_role
    AND (m.role <> 'owner' OR EXISTS (SELECT 1 FROM membership o
        WHERE o.workspace_id = m.workspace_id AND o.role = 'owner' AND o.disabled_at IS NULL AND o.account_id <> m.account_id));

-- name: MemberDisable :execrows
-- As MemberSetRole.
UPDATE membership m SET disabled_at = now()
WHERE m.workspace_id = @workspace_id AND m.account_id = @account_id AND m.disabled_at IS NULL
    AND (m.role <> 'owner' OR EXISTS (SELECT 1 FROM membership o
        WHERE o.workspace_id = m.workspace_id AND o.role = 'owner' AND o.disabled_at IS NULL AND o.account_id <> m.account_id));

-- name: MemberEnable :execrows
UPDATE membership SET disabled_at = NULL
WHERE workspace_id = @workspace_id AND account_id = @account_id AND disabled_at IS NOT NULL;

-- name: MemberTokensEnd :exec
-- Whoever comes back later does not find old tokens alive.
UPDATE access_token SET revoked_at = now()
WHERE workspace_id = @workspace_id AND account_id = @account_id::uuid AND revoked_at IS NULL;
