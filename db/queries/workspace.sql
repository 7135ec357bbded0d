-- name: WorkspaceBySlug :one
-- For the system role, which sees every workspace but only these columns.
SELECT id FROM workspace WHERE slug = @slug;

-- name: WorkspaceInsert :execrows
-- No row means that the slug is taken, maybe at this moment.
INSERT INTO workspace (id, slug, name) VALUES (@id, @slug, @name)
ON CONFLICT (slug) DO NOTHING;

-- name: JobNumberInsert :exec
INSERT INTO job_number (workspace_id) VALUES (@workspace_id);

-- name: ProductInsertFirst :exec
INSERT INTO product (workspace_id, id, name) VALUES (@workspace_id, @id, @name);

-- name: WorkspaceGet :one
SELECT slug, name, created_at FROM workspace WHERE id = @id;

-- name: WorkspaceRename :execrows
-- No row means that somebody else has just renamed it.
UPDATE workspace SET name = @name WHERE id = @id AND name = @old_name;

-- name: NamedLock :exec
-- One holder of the name at a time, until its transaction ends.
SELECT pg_advisory_xact_lock(hashtextextended(@name::text, 0));

-- name: MembershipList :many
-- The workspaces of a person, in the transaction of that account.
SELECT w.id, w.slug, w.name, m.role, a.name AS account_name
FROM membership m
JOIN workspace w ON w.id = m.workspace_id
JOIN account a ON a.id = m.account_id
WHERE m.account_id = @account_id
ORDER BY w.name, w.slug;

-- name: MembershipRole :one
SELECT role FROM membership WHERE workspace_id = @workspace_id AND account_id = @account_id;

-- name: MembershipOwner :one
-- The first owner.
SELECT a.id, a.password_hash
FROM membership m JOIN account a ON a.id = m.account_id
WHERE m.workspace_id = @workspace_id AND m.role = 'owner'
ORDER BY m.created_at, a.id LIMIT 1;
