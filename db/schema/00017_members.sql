-- +goose Up

-- A link that makes its holder a member of the workspace, once. What is over
-- stays as a row; the log says what became of it.
CREATE TABLE invitation (
    workspace_id uuid NOT NULL REFERENCES workspace ON DELETE CASCADE,
    id           uuid NOT NULL,
    -- Whom it is for. Nothing is sent there, and who holds the link may use it.
    email        text NOT NULL CHECK (email = lower(email) AND char_length(email) BETWEEN 3 AND 254),
    role         text NOT NULL CHECK (role IN ('owner', 'admin', 'member', 'viewer')),
    -- SHA-256 of the whole token; the link is shown once and kept nowhere.
    token_hash   bytea NOT NULL CONSTRAINT invitation_hash_key UNIQUE,
    hint         text NOT NULL,
    -- The member who vouches for it: it ends when he may invite nobody any more.
    invited_by   uuid NOT NULL REFERENCES account ON DELETE CASCADE,
    created_at   timestamptz NOT NULL DEFAULT now(),
    expires_at   timestamptz NOT NULL,
    used_at      timestamptz,
    revoked_at   timestamptz,
    PRIMARY KEY (workspace_id, id),
    CHECK (used_at IS NULL OR revoked_at IS NULL)
);
-- One open link for a person.
CREATE UNIQUE INDEX invitation_open ON invitation (workspace_id, email) WHERE used_at IS NULL AND revoked_at IS NULL;

ALTER TABLE invitation ENABLE ROW LEVEL SECURITY;
ALTER TABLE invitation FORCE ROW LEVEL SECURITY;
CREATE POLICY workspace ON invitation TO fleetboard_app
    USING (workspace_id = (SELECT nullif(current_setting('app.workspace_id', true), '')::uuid))
    WITH CHECK (workspace_id = (SELECT nullif(current_setting('app.workspace_id', true), '')::uuid));
-- A link is found by its hash, before its workspace is known.
CREATE POLICY bearer ON invitation FOR SELECT TO fleetboard_app
    USING (token_hash = (SELECT decode(nullif(current_setting('app.token_hash', true), ''), 'hex')));
GRANT SELECT, INSERT, UPDATE ON invitation TO fleetboard_app;
