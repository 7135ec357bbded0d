-- +goose Up

-- How much the log of a job has taken: a writer has a limit for each minute, each
-- attempt and each job. Its row is written under the lock of the job's lease.
CREATE TABLE job_log_use (
    workspace_id  uuid NOT NULL,
    job_id        uuid NOT NULL,
    job_bytes     bigint NOT NULL,
    -- The attempt that wrote last, and what it has written.
    epoch         bigint NOT NULL,
    attempt_bytes bigint NOT NULL,
    -- The same of the minute in which was written last.
    minute        timestamptz NOT NULL,
    minute_bytes  bigint NOT NULL,
    -- The line that says how many were left out, while none was kept since.
    left_out_line bigint,
    left_out      bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (workspace_id, job_id),
    FOREIGN KEY (workspace_id, job_id) REFERENCES job ON DELETE CASCADE
) WITH (fillfactor = 70);

ALTER TABLE job_log_use ENABLE ROW LEVEL SECURITY;
ALTER TABLE job_log_use FORCE ROW LEVEL SECURITY;
CREATE POLICY workspace ON job_log_use TO fleetboard_app
    USING (workspace_id = (SELECT nullif(current_setting('app.workspace_id', true), '')::uuid))
    WITH CHECK (workspace_id = (SELECT nullif(current_setting('app.workspace_id', true), '')::uuid));
GRANT SELECT, INSERT, UPDATE ON job_log_use TO fleetboard_app;
-- The line that says how many were left out counts on.
GRANT UPDATE (message, details) ON job_log TO fleetboard_app;
