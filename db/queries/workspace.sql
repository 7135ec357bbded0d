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
SELECT slug, name, created_at AS since, require_second_factor AS needs_factor FROM workspace WHERE id = @id;

-- name: WorkspaceRequireFactor :execrows
-- No row means that it was so before.
UPDATE workspace SET require_second_factor = @required WHERE id = @id AND require_second_factor <> @required;

-- name: WorkspaceRename :execrows
-- No row means that somebody else has just renamed it.
UPDATE workspace SET name = @name WHERE id = @id AND name = @old_name;

-- name: NamedLock :exec
-- One holder of the name at a time, until its transaction ends.
SELECT pg_advisory_xact_lock(hashtextextended(@name::text, 0));

-- name: MembershipList :many
-- The workspaces of a person, in the transaction of that account. Who has a
-- password and no second factor has to set one up where that is asked for.
SELECT w.id, w.slug, w.name, m.role, a.name AS account_name,
    (w.require_second_factor AND a.password_hash <> '' AND NOT EXISTS (SELECT 1 FROM account_totp f
        WHERE f.account_id = a.id AND f.confirmed_at IS NOT NULL))::boolean AS needs_factor
FROM membership m
JOIN workspace w ON w.id = m.workspace_id
JOIN account a ON a.id = m.account_id
WHERE m.account_id = @account_id AND m.disabled_at IS NULL
ORDER BY w.name, w.slug;

-- name: MembershipRole :one
-- No row of one who is disabled.
SELECT role FROM membership WHERE workspace_id = @workspace_id AND account_id = @account_id AND disabled_at IS NULL;

-- name: MembershipOwner :one
-- The first owner.
SELECT a.id, a.password_hash
FROM membership m JOIN account a ON a.id = m.account_id
WHERE m.workspace_id = @workspace_id AND m.role = 'owner'
ORDER BY m.created_at, a.id LIMIT 1;
