-- +goose Up

-- After the jobs: what goes with a workspace goes in the order of the tables, and a
-- key only once no secret is left that names it.

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

-- The values of job_text.input_context that are secret, one row each. The
-- context itself has "[secret]" in their place.
CREATE TABLE job_secret (
    workspace_id uuid NOT NULL,
    job_id       uuid NOT NULL,
    name         text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 128),
    key_id       integer NOT NULL,
    -- A byte for the version of the form, and what the key sealed.
    sealed       bytea NOT NULL,
    PRIMARY KEY (workspace_id, job_id, name),
    FOREIGN KEY (workspace_id, job_id) REFERENCES job(workspace_id, id) ON DELETE CASCADE,
    FOREIGN KEY (workspace_id, key_id) REFERENCES workspace_key(workspace_id, id)
) WITH (fillfactor = 80);
-- What a rotation still has to do.
CREATE INDEX job_secret_key ON job_secret (workspace_id, key_id, job_id, name);

-- Each shows and takes only rows of the transaction's workspace. Outside a transaction
-- the setting is the empty string, hence nullif; the sub-select makes it evaluated
-- once, not per row.
-- +goose StatementBegin
DO $$
DECLARE
    t text;
BEGIN
    FOREACH t IN ARRAY ARRAY['workspace_key', 'job_secret']
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

-- The loops learn where a rotation is under way and which keys an earlier key of
-- the server wraps.
CREATE POLICY system ON workspace_key FOR SELECT TO fleetboard_system
    USING (true);
GRANT SELECT, INSERT, UPDATE ON workspace_key TO fleetboard_app;
GRANT SELECT (workspace_id, id, server_key, retired_at) ON workspace_key TO fleetboard_system;
GRANT SELECT, INSERT, DELETE, UPDATE ON job_secret TO fleetboard_app;
