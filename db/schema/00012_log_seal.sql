-- +goose Up

-- The log of a workspace is sealed in blocks, in the order of commits: each block
-- has the digests of its events, the digest of the block before it, and the
-- server's signature. The application adds blocks and can change none (ADR 0042).
CREATE TABLE log_seal (
    workspace_id  uuid NOT NULL,
    number        bigint NOT NULL CHECK (number > 0),
    -- The block opens a chain: it has no events, and what lies before it is no
    -- longer checked.
    opens         boolean NOT NULL,
    -- The place of the last event; (0, 0) in a block that opens a chain.
    to_xid        xid8 NOT NULL,
    to_id         bigint NOT NULL,
    event_ids     bigint[] NOT NULL,
    -- SHA-256 of each event, in the order of event_ids.
    event_digests bytea NOT NULL,
    previous      bytea NOT NULL CHECK (octet_length(previous) = 32),
    digest        bytea NOT NULL CHECK (octet_length(digest) = 32),
    -- Ed25519: the public key and the signature of digest.
    signer        bytea NOT NULL CHECK (octet_length(signer) = 32),
    signature     bytea NOT NULL CHECK (octet_length(signature) = 64),
    sealed_at     timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (workspace_id, number),
    FOREIGN KEY (workspace_id) REFERENCES workspace(id) ON DELETE CASCADE,
    CHECK (octet_length(event_digests) = (32 * cardinality(event_ids)))
);
ALTER TABLE log_seal ALTER COLUMN event_digests SET STORAGE EXTERNAL;

-- Events that were sealed and then folded into one, by compaction or because
-- their job was deleted: the server's signature says that it was done on purpose.
CREATE TABLE log_fold (
    workspace_id uuid NOT NULL,
    -- The event that stands for the others, and its SHA-256.
    event_id     bigint NOT NULL,
    event_digest bytea NOT NULL CHECK (octet_length(event_digest) = 32),
    removed_ids  bigint[] NOT NULL,
    signer       bytea NOT NULL CHECK (octet_length(signer) = 32),
    signature    bytea NOT NULL CHECK (octet_length(signature) = 64),
    folded_at    timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (workspace_id, event_id),
    FOREIGN KEY (workspace_id) REFERENCES workspace(id) ON DELETE CASCADE
);
-- The audit asks which fold took an event away.
CREATE INDEX log_fold_removed ON log_fold USING gin (removed_ids);

-- Each shows and takes only rows of the transaction's workspace. Outside a transaction
-- the setting is the empty string, hence nullif; the sub-select makes it evaluated
-- once, not per row.
-- +goose StatementBegin
DO $$
DECLARE
    t text;
BEGIN
    FOREACH t IN ARRAY ARRAY['log_seal', 'log_fold']
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

-- The sealer asks which workspaces have something to seal, and every server how
-- far each log is sealed.
CREATE POLICY system ON log_seal FOR SELECT TO fleetboard_system
    USING (true);
GRANT SELECT, INSERT ON log_seal TO fleetboard_app;
GRANT SELECT (workspace_id, number, to_xid, to_id, digest, signer, signature) ON log_seal TO fleetboard_system;
GRANT SELECT, INSERT ON log_fold TO fleetboard_app;

