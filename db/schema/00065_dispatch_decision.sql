-- +goose Up

-- Which factory got a job in a workspace where factories are compared, and how each did. Rows go
-- after a week.
CREATE TABLE dispatch_decision (
    workspace_id uuid NOT NULL,
    job_id       uuid NOT NULL,
    -- Of the lease that it led to.
    epoch        bigint NOT NULL CHECK (epoch > 0),
    at           timestamptz NOT NULL DEFAULT clock_timestamp(),
    mode         text NOT NULL CHECK (mode IN ('shadow', 'targeted')),
    -- The factory that got the job, who decided that, and the one that suited it best, '' for none.
    chosen       text NOT NULL CHECK (char_length(chosen) <= 64),
    chosen_by    text NOT NULL CHECK (chosen_by IN ('pull', 'scorer', 'person')),
    best         text NOT NULL CHECK (char_length(best) <= 64),
    class        text NOT NULL CHECK (class IN ('same', 'tie', 'stale_snapshot', 'infeasible', 'real')),
    why          text NOT NULL CHECK (char_length(why) <= 1000),
    -- When what was compared was read.
    snapshot_at  timestamptz NOT NULL,
    -- [{"factory": …, "eligible": …, "missing": […], "score": …, "parts": {…}}], the best first.
    candidates   jsonb NOT NULL CHECK (jsonb_typeof(candidates) = 'array' AND octet_length(candidates::text) <= 65536),
    PRIMARY KEY (workspace_id, job_id, epoch),
    FOREIGN KEY (workspace_id, job_id) REFERENCES job(workspace_id, id) ON DELETE CASCADE
) WITH (autovacuum_vacuum_insert_scale_factor = 0.02, autovacuum_vacuum_insert_threshold = 50000);
CREATE INDEX dispatch_decision_at ON dispatch_decision (workspace_id, at);
ALTER TABLE dispatch_decision ENABLE ROW LEVEL SECURITY;
ALTER TABLE dispatch_decision FORCE ROW LEVEL SECURITY;
CREATE POLICY workspace ON dispatch_decision TO fleetboard_app
    USING (workspace_id = (SELECT nullif(current_setting('app.workspace_id', true), '')::uuid))
    WITH CHECK (workspace_id = (SELECT nullif(current_setting('app.workspace_id', true), '')::uuid));
GRANT SELECT, INSERT, DELETE ON dispatch_decision TO fleetboard_app;
