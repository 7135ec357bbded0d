-- +goose Up

-- What a job with an idempotency key of its own was asked for as, so that the key
-- with another content is told from a repetition. Jobs of before have no row.
CREATE TABLE job_request (
    workspace_id uuid NOT NULL,
    job_id       uuid NOT NULL,
    -- Keyed, since what was asked for may hold secrets.
    digest       bytea NOT NULL,
    PRIMARY KEY (workspace_id, job_id),
    FOREIGN KEY (workspace_id, job_id) REFERENCES job ON DELETE CASCADE
);
ALTER TABLE job_request ENABLE ROW LEVEL SECURITY;
ALTER TABLE job_request FORCE ROW LEVEL SECURITY;
CREATE POLICY workspace ON job_request TO fleetboard_app
    USING (workspace_id = (SELECT nullif(current_setting('app.workspace_id', true), '')::uuid))
    WITH CHECK (workspace_id = (SELECT nullif(current_setting('app.workspace_id', true), '')::uuid));
GRANT SELECT, INSERT ON job_request TO fleetboard_app;
