-- name: AccessTokenInsert :execrows
-- No row means that the same form has made a token before.
INSERT INTO access_token (workspace_id, id, kind, name, token_hash, hint, account_id,
    products, capabilities, factory, may_submit, roles, created_by, expires_at, form_key)
VALUES (@workspace_id, @id, @kind, @name, @token_hash, @hint, @account_id,
    @products, @capabilities, @factory, @may_submit, @roles, @created_by, @expires_at, @form_key)
ON CONFLICT (workspace_id, form_key) WHERE form_key <> '' DO NOTHING;

-- name: AccessTokenByHash :one
-- With it the role and the name that its person has now; none of one who has left
-- or is disabled.
SELECT t.workspace_id, t.id, t.kind, t.name, t.account_id, t.products, t.capabilities, t.factory, t.may_submit, t.roles,
    m.role, a.name AS account_name,
    coalesce(w.require_second_factor AND a.password_hash <> '' AND NOT EXISTS (SELECT 1 FROM account_totp f
        WHERE f.account_id = a.id AND f.confirmed_at IS NOT NULL), false)::boolean AS needs_factor,
    (t.revoked_at IS NOT NULL)::boolean AS revoked,
    (t.expires_at IS NOT NULL AND t.expires_at <= now())::boolean AS expired,
    (t.last_used_at IS NULL OR t.last_used_at < now() - interval '1 minute')::boolean AS use_is_old
FROM access_token t
LEFT JOIN membership m ON m.workspace_id = t.workspace_id AND m.account_id = t.account_id AND m.disabled_at IS NULL
LEFT JOIN workspace w ON w.id = m.workspace_id
LEFT JOIN account a ON a.id = m.account_id
WHERE t.token_hash = @token_hash;

-- name: AccessTokenUsed :exec
UPDATE access_token SET last_used_at = now()
WHERE workspace_id = @workspace_id AND id = @id
    AND (last_used_at IS NULL OR last_used_at < now() - interval '1 minute');

-- name: AccessTokenTools :exec
-- A call of a tool; those of the same program within a few seconds are not written again.
UPDATE access_token SET tools_at = now(), tools_program = @program
WHERE workspace_id = @workspace_id AND id = @id
    AND (tools_at IS NULL OR tools_at < now() - interval '10 seconds' OR tools_program <> @program);

-- name: AccessTokenLastTools :many
-- The last call of a tool by one of a person's tokens; no row where there was none.
SELECT name, tools_program AS program, tools_at, now()::timestamptz AS now FROM access_token
WHERE workspace_id = @workspace_id AND account_id = @account_id::uuid AND tools_at IS NOT NULL
ORDER BY tools_at DESC
LIMIT 1;

-- name: AccessTokenList :many
-- A person's own tokens, and where enrolment is true the workspace's enrolment
-- tokens; what ended over a month ago is left out. Live ones come first, then
-- the newest.
SELECT t.id, t.kind, t.name, t.hint, t.products, t.capabilities, t.factory, t.may_submit, t.roles, t.created_by, t.created_at, t.expires_at,
    t.last_used_at, t.revoked_at, now()::timestamptz AS now,
    (t.revoked_at IS NULL AND (t.expires_at IS NULL OR t.expires_at > now()))::boolean AS live,
    (SELECT count(*) FROM agent a WHERE a.workspace_id = t.workspace_id AND a.enrolment_id = t.id
        AND (a.terminated_at IS NULL OR a.ended_gracefully)
        AND a.last_heartbeat_at > now() - make_interval(secs => a.dead_after_seconds))::int AS agents
FROM access_token t
WHERE t.workspace_id = @workspace_id
    AND (t.account_id = @account_id::uuid OR (@enrolment::boolean AND t.kind = 'enrolment'))
    AND coalesce(t.revoked_at, t.expires_at, now()) > now() - interval '30 days'
ORDER BY live DESC, t.created_at DESC, t.id
LIMIT @max_rows;

-- name: AccessTokenLive :one
-- How many live tokens of a kind there are; of a person's, only the own ones.
SELECT count(*)::int FROM access_token t
WHERE t.workspace_id = @workspace_id AND t.kind = @kind AND t.revoked_at IS NULL
    AND (t.expires_at IS NULL OR t.expires_at > now())
    AND (t.kind = 'enrolment' OR t.account_id = @account_id::uuid);

-- name: EnrolmentReach :one
-- The scope of an enrolment token that was not revoked, also of one that has expired:
-- its agents go on.
SELECT products, capabilities, factory FROM access_token
WHERE workspace_id = @workspace_id AND id = @id AND kind = 'enrolment' AND revoked_at IS NULL;

-- name: AccessTokenRevoke :one
-- The own tokens of an account, or any where any_owner is true. A token that
-- was revoked before keeps its time.
UPDATE access_token t SET revoked_at = coalesce(t.revoked_at, now())
FROM (SELECT o.workspace_id, o.id, o.revoked_at FROM access_token o
    WHERE o.workspace_id = @workspace_id AND o.id = @id FOR NO KEY UPDATE) was
WHERE t.workspace_id = was.workspace_id AND t.id = was.id AND (@any_owner::boolean OR t.account_id = @account_id::uuid)
RETURNING t.kind, t.name, t.hint, t.products, t.capabilities, t.factory, t.may_submit, t.roles, (was.revoked_at IS NOT NULL)::boolean AS before;

-- name: AccessTokenRevokeOwn :many
-- All live ones of a person.
UPDATE access_token SET revoked_at = now()
WHERE workspace_id = @workspace_id AND account_id = @account_id::uuid AND revoked_at IS NULL
    AND (expires_at IS NULL OR expires_at > now())
RETURNING name, hint;

-- name: AccessTokenRevokeNamed :many
UPDATE access_token SET revoked_at = now()
WHERE workspace_id = @workspace_id AND kind = @kind AND name = @name AND revoked_at IS NULL
RETURNING id;

-- name: ProductNamesUnknown :many
-- Those of the names that no product of the workspace has, in their order.
SELECT n.name::text AS name FROM unnest(@names::text[]) WITH ORDINALITY AS n(name, place)
WHERE NOT EXISTS (SELECT FROM product p WHERE p.workspace_id = @workspace_id AND p.name = n.name)
ORDER BY n.place;
