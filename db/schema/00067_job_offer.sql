-- +goose Up

-- The last offer of a ready job to one factory, in a workspace whose mode is targeted. It holds for
-- one version of the job, and while that is ready. Whoever writes or deletes a row of a job in the
-- queue has locked its row there, so that nobody waits here.
CREATE TABLE job_offer (
    workspace_id uuid NOT NULL,
    job_id       uuid NOT NULL,
    job_version  integer NOT NULL,
    factory_id   uuid NOT NULL,
    factory      text NOT NULL CHECK (char_length(factory) <= 64),
    score        double precision NOT NULL,
    -- The first to the third offer of the version; 0 is a wait for a factory that has no seat.
    turn         smallint NOT NULL CHECK (turn BETWEEN 0 AND 3),
    -- To which factories the version was offered so far.
    tried        text[] NOT NULL CHECK (cardinality(tried) <= 3),
    -- When somebody was first passed over for the sake of another factory.
    first_at     timestamptz NOT NULL DEFAULT clock_timestamp(),
    offered_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
    expires_at   timestamptz NOT NULL,
    PRIMARY KEY (workspace_id, job_id),
    FOREIGN KEY (workspace_id, job_id) REFERENCES job(workspace_id, id) ON DELETE CASCADE
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500,
    autovacuum_vacuum_insert_threshold = -1, autovacuum_vacuum_cost_delay = 0, autovacuum_analyze_scale_factor = 0.2,
    vacuum_truncate = false);
CREATE INDEX job_offer_expires ON job_offer (workspace_id, expires_at);
CREATE INDEX job_offer_factory ON job_offer (workspace_id, factory_id);
ALTER TABLE job_offer ENABLE ROW LEVEL SECURITY;
ALTER TABLE job_offer FORCE ROW LEVEL SECURITY;
CREATE POLICY workspace ON job_offer TO fleetboard_app
    USING (workspace_id = (SELECT nullif(current_setting('app.workspace_id', true), '')::uuid))
    WITH CHECK (workspace_id = (SELECT nullif(current_setting('app.workspace_id', true), '')::uuid));
GRANT SELECT, INSERT, DELETE, UPDATE ON job_offer TO fleetboard_app;
