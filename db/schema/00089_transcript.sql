-- +goose Up

-- What an agent did in an attempt, step by step: a transcript for each attempt, with the sums of
-- its steps. Its steps lie in chunks.
CREATE TABLE job_transcript (
    workspace_id uuid NOT NULL,
    job_id       uuid NOT NULL,
    epoch        bigint NOT NULL CHECK (epoch > 0),
    -- The number of the last step that came, kept or left out.
    last_n       bigint NOT NULL DEFAULT 0,
    -- The steps that are kept, what they take before they are compressed, and what came beyond
    -- the limits.
    steps        bigint NOT NULL DEFAULT 0,
    bytes        bigint NOT NULL DEFAULT 0,
    left_out     bigint NOT NULL DEFAULT 0,
    tokens       bigint NOT NULL DEFAULT 0,
    cost_nanos   bigint NOT NULL DEFAULT 0,
    -- The minute of the last step, and the bytes that came in it.
    minute       timestamptz NOT NULL DEFAULT date_trunc('minute', clock_timestamp()),
    minute_bytes bigint NOT NULL DEFAULT 0,
    began_at     timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (workspace_id, job_id, epoch),
    FOREIGN KEY (workspace_id, job_id) REFERENCES job(workspace_id, id) ON DELETE CASCADE
) WITH (fillfactor = 70);
CREATE INDEX job_transcript_age ON job_transcript (workspace_id, began_at);

-- Steps first_n to last_n of a transcript, as lines of JSON compressed with zstd. Small chunks at the
-- end are replaced by one that has all of them.
CREATE TABLE job_transcript_chunk (
    workspace_id uuid NOT NULL,
    job_id       uuid NOT NULL,
    epoch        bigint NOT NULL,
    first_n      bigint NOT NULL CHECK (first_n > 0),
    last_n       bigint NOT NULL,
    -- What the steps take before they are compressed.
    size         integer NOT NULL CHECK (size > 0),
    -- A bit for each kind of step that is in it.
    kinds        integer NOT NULL CHECK (kinds > 0),
    data         bytea NOT NULL,
    PRIMARY KEY (workspace_id, job_id, epoch, first_n),
    FOREIGN KEY (workspace_id, job_id, epoch) REFERENCES job_transcript(workspace_id, job_id, epoch) ON DELETE CASCADE,
    CHECK (last_n >= first_n)
) WITH (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 1000);
ALTER TABLE job_transcript_chunk ALTER COLUMN data SET STORAGE EXTERNAL;

-- +goose StatementBegin
DO $$
DECLARE
    t text;
BEGIN
    FOREACH t IN ARRAY ARRAY['job_transcript', 'job_transcript_chunk']
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
GRANT SELECT, INSERT, UPDATE, DELETE ON job_transcript TO fleetboard_app;
GRANT SELECT, INSERT, DELETE ON job_transcript_chunk TO fleetboard_app;
