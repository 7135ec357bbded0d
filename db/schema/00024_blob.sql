-- +goose Up

-- How many bytes a workspace has stored: the sum of blob_data.counted, kept with each
-- change of it, so that nobody sums it up.
CREATE TABLE blob_room (
    workspace_id uuid NOT NULL PRIMARY KEY REFERENCES workspace(id) ON DELETE CASCADE,
    bytes        bigint NOT NULL CHECK (bytes >= 0)
) WITH (fillfactor = 50);

-- Bytes that were stored or are being uploaded. A blob names one of them; one that no
-- blob names is removed once it has expired.
CREATE TABLE blob_data (
    workspace_id uuid NOT NULL,
    id           uuid NOT NULL,
    -- Which store has them.
    store        text NOT NULL CHECK (store IN ('postgres', 's3')),
    -- What it takes of the workspace's room.
    counted      bigint NOT NULL DEFAULT 0 CHECK (counted >= 0),
    size         bigint NOT NULL DEFAULT 0 CHECK (size >= 0),
    -- SHA-256 of each piece as it is stored, one after another.
    digests      bytea NOT NULL DEFAULT '',
    -- The key that sealed the pieces, sealed itself by the workspace's key with that id;
    -- both NULL where they are stored as they are.
    key_id       integer,
    sealed_key   bytea,
    made_at      timestamptz NOT NULL DEFAULT now(),
    -- NULL while a blob names it.
    expires_at   timestamptz,
    PRIMARY KEY (workspace_id, id),
    FOREIGN KEY (workspace_id) REFERENCES workspace(id) ON DELETE CASCADE,
    -- Keys go with their workspace alone.
    FOREIGN KEY (workspace_id, key_id) REFERENCES workspace_key(workspace_id, id) ON DELETE CASCADE,
    CHECK ((key_id IS NULL) = (sealed_key IS NULL)),
    CHECK (octet_length(digests) % 32 = 0)
) WITH (fillfactor = 70);
CREATE INDEX blob_data_expires ON blob_data (expires_at) WHERE (expires_at IS NOT NULL);
-- What a rotation of keys still has to do.
CREATE INDEX blob_data_key ON blob_data (workspace_id, key_id, id) WHERE (key_id IS NOT NULL);

-- The pieces of what PostgreSQL stores, all but the last of the same size. They are not
-- compressed: most contents are, or are sealed.
CREATE TABLE blob_chunk (
    workspace_id uuid NOT NULL,
    data_id      uuid NOT NULL,
    n            integer NOT NULL CHECK (n >= 0),
    data         bytea NOT NULL,
    PRIMARY KEY (workspace_id, data_id, n),
    FOREIGN KEY (workspace_id, data_id) REFERENCES blob_data(workspace_id, id) ON DELETE CASCADE
);
ALTER TABLE blob_chunk ALTER COLUMN data SET STORAGE EXTERNAL;

-- A content by its SHA-256, stored once.
CREATE TABLE blob (
    workspace_id uuid NOT NULL,
    sha256       bytea NOT NULL CHECK (octet_length(sha256) = 32),
    data_id      uuid NOT NULL,
    size         bigint NOT NULL CHECK (size >= 0),
    put_by       text NOT NULL,
    created_at   timestamptz NOT NULL DEFAULT now(),
    -- Since when it may be that nothing refers to it; NULL where something does.
    free_since   timestamptz DEFAULT now(),
    -- When a read found that its bytes are not those that were put. Who puts it again
    -- replaces them.
    damaged_at   timestamptz,
    PRIMARY KEY (workspace_id, sha256),
    FOREIGN KEY (workspace_id, data_id) REFERENCES blob_data(workspace_id, id) ON DELETE CASCADE
);
CREATE INDEX blob_data_of ON blob (workspace_id, data_id);
CREATE INDEX blob_free ON blob (free_since) WHERE (free_since IS NOT NULL);

-- The agents that have put a content: they know it, and may read and name it.
CREATE TABLE blob_putter (
    workspace_id uuid NOT NULL,
    sha256       bytea NOT NULL,
    agent_id     uuid NOT NULL,
    PRIMARY KEY (workspace_id, sha256, agent_id),
    FOREIGN KEY (workspace_id, sha256) REFERENCES blob(workspace_id, sha256) ON DELETE CASCADE
);

-- Who names a blob: a job, by its result or its checkpoint, or a message. Whoever
-- deletes a message deletes these rows with it.
CREATE TABLE blob_ref (
    workspace_id uuid NOT NULL,
    id           bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
    sha256       bytea NOT NULL,
    job_id       uuid,
    message_id   uuid,
    made_at      timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (workspace_id, id),
    UNIQUE NULLS NOT DISTINCT (workspace_id, sha256, job_id, message_id),
    FOREIGN KEY (workspace_id) REFERENCES workspace(id) ON DELETE CASCADE,
    -- At the end, since both go with a workspace. Who adds a row has locked the blob's.
    FOREIGN KEY (workspace_id, sha256) REFERENCES blob(workspace_id, sha256) DEFERRABLE INITIALLY DEFERRED,
    FOREIGN KEY (workspace_id, job_id) REFERENCES job(workspace_id, id) ON DELETE CASCADE,
    CHECK (num_nonnulls(job_id, message_id) = 1)
);
CREATE INDEX blob_ref_job ON blob_ref (workspace_id, job_id) WHERE (job_id IS NOT NULL);
CREATE INDEX blob_ref_message ON blob_ref (workspace_id, message_id) WHERE (message_id IS NOT NULL);

-- The last reference may be the one that goes: who collects looks whether one is left.
-- +goose StatementBegin
CREATE FUNCTION blob_ref_gone() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS
$$
BEGIN
    UPDATE public.blob b SET free_since = now()
    FROM (SELECT DISTINCT g.workspace_id, g.sha256 FROM gone g) AS g
    WHERE b.workspace_id = g.workspace_id AND b.sha256 = g.sha256;
    RETURN NULL;
END
$$;
-- +goose StatementEnd
CREATE TRIGGER blob_ref_gone AFTER DELETE ON blob_ref REFERENCING OLD TABLE AS gone
    FOR EACH STATEMENT EXECUTE FUNCTION blob_ref_gone();

-- Each shows and takes only rows of the transaction's workspace. Outside a transaction
-- the setting is the empty string, hence nullif; the sub-select makes it evaluated
-- once, not per row.
-- +goose StatementBegin
DO $$
DECLARE
    t text;
BEGIN
    FOREACH t IN ARRAY ARRAY['blob_room', 'blob_data', 'blob_chunk', 'blob', 'blob_putter', 'blob_ref']
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

GRANT SELECT, INSERT, UPDATE ON blob_room TO fleetboard_app;
GRANT SELECT, INSERT, UPDATE, DELETE ON blob_data, blob TO fleetboard_app;
GRANT SELECT, INSERT, DELETE ON blob_chunk, blob_putter, blob_ref TO fleetboard_app;

-- Where there is something to collect.
CREATE POLICY system ON blob_data FOR SELECT TO fleetboard_system
    USING (expires_at IS NOT NULL);
GRANT SELECT (workspace_id, expires_at) ON blob_data TO fleetboard_system;
CREATE POLICY system ON blob FOR SELECT TO fleetboard_system
    USING (free_since IS NOT NULL);
GRANT SELECT (workspace_id, free_since) ON blob TO fleetboard_system;
