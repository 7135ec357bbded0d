-- +goose Up

-- Whose tokens let pods and runners register as agents without a secret of ours.
CREATE TABLE trusted_issuer (
    workspace_id uuid NOT NULL,
    -- Told to hosts; it is no secret.
    id           uuid NOT NULL,
    name         text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 64),
    issuer       text NOT NULL CHECK (char_length(issuer) BETWEEN 1 AND 500),
    audience     text NOT NULL CHECK (char_length(audience) BETWEEN 1 AND 255),
    -- [{"claim": ..., "value": ...}]: each has to be in a token, exactly.
    claims       jsonb NOT NULL CHECK (jsonb_typeof(claims) = 'array' AND jsonb_array_length(claims) BETWEEN 1 AND 20),
    -- The enrolment token that its agents belong to; nobody holds it.
    token_id     uuid NOT NULL,
    created_by   text NOT NULL,
    created_at   timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (workspace_id, id),
    CONSTRAINT trusted_issuer_name_key UNIQUE (workspace_id, name),
    FOREIGN KEY (workspace_id, token_id) REFERENCES access_token (workspace_id, id) ON DELETE CASCADE
);
CREATE INDEX trusted_issuer_token ON trusted_issuer (workspace_id, token_id);

-- Which agent a token of an issuer has registered, for as long as it is good: it registers no other.
CREATE TABLE workload_token (
    workspace_id uuid NOT NULL,
    issuer_id    uuid NOT NULL,
    token_hash   bytea NOT NULL CHECK (octet_length(token_hash) = 32),
    agent        text NOT NULL CHECK (char_length(agent) BETWEEN 1 AND 64),
    expires_at   timestamptz NOT NULL,
    PRIMARY KEY (workspace_id, issuer_id, token_hash),
    FOREIGN KEY (workspace_id, issuer_id) REFERENCES trusted_issuer (workspace_id, id) ON DELETE CASCADE
);
CREATE INDEX workload_token_expires ON workload_token (workspace_id, expires_at);

-- +goose StatementBegin
DO $$
DECLARE
    t text;
BEGIN
    FOREACH t IN ARRAY ARRAY['trusted_issuer', 'workload_token']
    LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', t);
        EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', t);
        EXECUTE format('CREATE POLICY workspace ON %I TO fleetboard_app
            USING (workspace_id = (SELECT nullif(current_setting(''app.workspace_id'', true), '''')::uuid))
            WITH CHECK (workspace_id = (SELECT nullif(current_setting(''app.workspace_id'', true), '''')::uuid))', t);
        EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %I TO fleetboard_app', t);
    END LOOP;
END
$$;
-- +goose StatementEnd
