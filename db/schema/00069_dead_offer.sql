-- +goose Up

-- Offers of jobs that a broker has delivered as often as it may and that nobody took. Rows go after a
-- week.
CREATE TABLE dead_offer (
    workspace_id uuid NOT NULL,
    id           bigint GENERATED ALWAYS AS IDENTITY,
    job_id       uuid NOT NULL,
    job_version  integer NOT NULL,
    factory_id   uuid NOT NULL,
    factory      text NOT NULL CHECK (char_length(factory) <= 64),
    deliveries   integer NOT NULL CHECK (deliveries > 0),
    -- Until when the offer stood.
    expires_at   timestamptz NOT NULL,
    at           timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (workspace_id, id),
    UNIQUE (workspace_id, job_id, job_version, factory_id),
    FOREIGN KEY (workspace_id, job_id) REFERENCES job(workspace_id, id) ON DELETE CASCADE
);
CREATE INDEX dead_offer_at ON dead_offer (workspace_id, at);
ALTER TABLE dead_offer ENABLE ROW LEVEL SECURITY;
ALTER TABLE dead_offer FORCE ROW LEVEL SECURITY;
CREATE POLICY workspace ON dead_offer TO fleetboard_app
    USING (workspace_id = (SELECT nullif(current_setting('app.workspace_id', true), '')::uuid))
    WITH CHECK (workspace_id = (SELECT nullif(current_setting('app.workspace_id', true), '')::uuid));
GRANT SELECT, INSERT, DELETE ON dead_offer TO fleetboard_app;
