-- +goose Up

CREATE TABLE workspace (
    id                    uuid NOT NULL,
    slug                  text NOT NULL CHECK (slug ~ '^[a-z0-9][a-z0-9-]{0,62}$'),
    name                  text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 100),
    -- Keys of jobs are this prefix, a dash and a number.
    job_prefix            text NOT NULL DEFAULT 'FB' CHECK (job_prefix ~ '^[A-Z][A-Z0-9]{0,9}$'),
    created_at            timestamptz NOT NULL DEFAULT now(),
    -- Whether a member who logs in with a password needs a second factor.
    require_second_factor boolean NOT NULL DEFAULT false,
    PRIMARY KEY (id),
    UNIQUE (slug)
);

-- The data keys of a workspace, wrapped by the server's key; the newest one
-- writes. A key is retired when no value is left that it sealed.
CREATE TABLE workspace_key (
    workspace_id uuid NOT NULL,
    id           integer NOT NULL CHECK (id > 0),
    wrapped      bytea NOT NULL,
    -- Tells which of the server's keys wrapped it, without telling the key.
    server_key   bytea NOT NULL CHECK (octet_length(server_key) = 8),
    -- How many values were sealed anew with a later key.
    moved        bigint NOT NULL DEFAULT 0 CHECK (moved >= 0),
    made_at      timestamptz NOT NULL DEFAULT now(),
    retired_at   timestamptz,
    PRIMARY KEY (workspace_id, id),
    FOREIGN KEY (workspace_id) REFERENCES workspace(id) ON DELETE CASCADE
);
-- Where more than one key lives, a rotation is under way.
CREATE INDEX workspace_key_live ON workspace_key (workspace_id, id) WHERE (retired_at IS NULL);

-- Each shows and takes only rows of the transaction's workspace. Outside a transaction
-- the setting is the empty string, hence nullif; the sub-select makes it evaluated
-- once, not per row.
-- +goose StatementBegin
DO $$
DECLARE
    t text;
BEGIN
    FOREACH t IN ARRAY ARRAY['workspace_key']
    LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', t);
        EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', t);
        EXECUTE format('CREATE POLICY workspace ON %I TO fleetboard_app
            USING (workspace_id = (SELECT nullif(current_setting(''app.workspace_id'', true), '''')::uuid))
            WITH CHECK (workspace_id = (SELECT nullif(current_setting(''app.workspace_id'', true), '''')::uuid))', t);
    END LOOP;
END
$$;
-- +goose StatementEnd

ALTER TABLE workspace ENABLE ROW LEVEL SECURITY;
ALTER TABLE workspace FORCE ROW LEVEL SECURITY;
-- Loops learn where there is work; they do it in a transaction of that workspace.
CREATE POLICY system ON workspace FOR SELECT TO fleetboard_system
    USING (true);
CREATE POLICY workspace ON workspace TO fleetboard_app
    USING ((id = (SELECT (nullif(current_setting('app.workspace_id', true), ''))::uuid)))
    WITH CHECK ((id = (SELECT (nullif(current_setting('app.workspace_id', true), ''))::uuid)));
GRANT SELECT, INSERT, UPDATE ON workspace TO fleetboard_app;
GRANT SELECT (id, slug) ON workspace TO fleetboard_system;
-- The loops learn where a rotation is under way and which keys an earlier key of
-- the server wraps.
CREATE POLICY system ON workspace_key FOR SELECT TO fleetboard_system
    USING (true);
GRANT SELECT, INSERT, UPDATE ON workspace_key TO fleetboard_app;
GRANT SELECT (workspace_id, id, server_key, retired_at) ON workspace_key TO fleetboard_system;

