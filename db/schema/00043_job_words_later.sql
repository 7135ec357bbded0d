-- +goose Up

-- The words of jobs were written by triggers within the transactions that make and change
-- jobs. A loop of the leader writes them now, from the log of events (ADR 79).
DROP TRIGGER job_text_added ON job_text;
DROP TRIGGER job_text_changed ON job_text;
DROP TRIGGER job_said_changed ON job;
DROP FUNCTION job_text_added();
DROP FUNCTION job_text_changed();
DROP FUNCTION job_said_changed();

-- How far the log of events was looked at for jobs whose words are to be written.
CREATE TABLE job_words_place (
    workspace_id uuid PRIMARY KEY REFERENCES workspace(id) ON DELETE CASCADE,
    place        text NOT NULL
);
-- What was committed before has its words.
ALTER TABLE workspace NO FORCE ROW LEVEL SECURITY;
INSERT INTO job_words_place (workspace_id, place) SELECT id, log_horizon()::text || '-0' FROM workspace;
ALTER TABLE workspace FORCE ROW LEVEL SECURITY;

ALTER TABLE job_words_place ENABLE ROW LEVEL SECURITY;
ALTER TABLE job_words_place FORCE ROW LEVEL SECURITY;
CREATE POLICY workspace ON job_words_place TO fleetboard_app
    USING (workspace_id = (SELECT nullif(current_setting('app.workspace_id', true), '')::uuid))
    WITH CHECK (workspace_id = (SELECT nullif(current_setting('app.workspace_id', true), '')::uuid));
GRANT SELECT, INSERT, UPDATE ON job_words_place TO fleetboard_app;
