-- +goose Up

-- Old messages that were dropped: a blob has them, a JSON object in each line, packed with
-- gzip.
CREATE TABLE message_archive (
    workspace_id uuid NOT NULL REFERENCES workspace(id) ON DELETE CASCADE,
    id           uuid NOT NULL,
    first_seq    bigint NOT NULL,
    last_seq     bigint NOT NULL,
    messages     integer NOT NULL CHECK (messages > 0),
    blob         bytea NOT NULL CHECK (octet_length(blob) = 32),
    at           timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (workspace_id, id),
    CHECK (first_seq <= last_seq)
);
CREATE INDEX message_archive_last ON message_archive (workspace_id, last_seq);
ALTER TABLE message_archive ENABLE ROW LEVEL SECURITY;
ALTER TABLE message_archive FORCE ROW LEVEL SECURITY;
CREATE POLICY workspace ON message_archive TO fleetboard_app
    USING (workspace_id = (SELECT nullif(current_setting('app.workspace_id', true), '')::uuid))
    WITH CHECK (workspace_id = (SELECT nullif(current_setting('app.workspace_id', true), '')::uuid));
GRANT SELECT, INSERT, DELETE ON message_archive TO fleetboard_app;

-- An archive names its own blob, and those that its messages named.
ALTER TABLE blob_ref ADD COLUMN archive_id uuid;
ALTER TABLE blob_ref ADD FOREIGN KEY (workspace_id, archive_id) REFERENCES message_archive(workspace_id, id) ON DELETE CASCADE;
ALTER TABLE blob_ref DROP CONSTRAINT blob_ref_check;
ALTER TABLE blob_ref ADD CHECK (num_nonnulls(job_id, message_id, archive_id) = 1);
ALTER TABLE blob_ref DROP CONSTRAINT blob_ref_workspace_id_sha256_job_id_message_id_key;
ALTER TABLE blob_ref ADD UNIQUE NULLS NOT DISTINCT (workspace_id, sha256, job_id, message_id, archive_id);
CREATE INDEX blob_ref_archive ON blob_ref (workspace_id, archive_id) WHERE (archive_id IS NOT NULL);
