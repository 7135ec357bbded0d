-- +goose Up

SELECT add_event_types('dispatch.changed');

-- How a workspace gives its jobs out. Without a row all is as by default.
CREATE TABLE dispatch_setting (
    workspace_id     uuid PRIMARY KEY REFERENCES workspace(id) ON DELETE CASCADE,
    mode             text NOT NULL CHECK (mode IN ('pull', 'shadow', 'targeted')),
    offer_seconds    smallint NOT NULL CHECK (offer_seconds BETWEEN 5 AND 300),
    affinity_seconds smallint NOT NULL CHECK (affinity_seconds BETWEEN 0 AND 60),
    -- What counts how much where factories are compared, each 0 to 10: {"load": 2}.
    weights          jsonb NOT NULL CHECK (jsonb_typeof(weights) = 'object' AND octet_length(weights::text) <= 1024),
    -- 0 is never, both.
    preempt_gap      smallint NOT NULL CHECK (preempt_gap BETWEEN 0 AND 10),
    ageing_minutes   smallint NOT NULL CHECK (ageing_minutes BETWEEN 0 AND 10080),
    short_jobs_first boolean NOT NULL,
    -- Rises with each change, also with one of a product's weight: claims read it with their
    -- agents, and the rest only where it is another.
    version          bigint NOT NULL
);
ALTER TABLE dispatch_setting ENABLE ROW LEVEL SECURITY;
ALTER TABLE dispatch_setting FORCE ROW LEVEL SECURITY;
CREATE POLICY workspace ON dispatch_setting TO fleetboard_app
    USING (workspace_id = (SELECT nullif(current_setting('app.workspace_id', true), '')::uuid))
    WITH CHECK (workspace_id = (SELECT nullif(current_setting('app.workspace_id', true), '')::uuid));
GRANT SELECT, INSERT, DELETE, UPDATE ON dispatch_setting TO fleetboard_app;

-- Its share of what is given out, beside other products with jobs as urgent.
ALTER TABLE product ADD COLUMN dispatch_weight smallint NOT NULL DEFAULT 1 CHECK (dispatch_weight BETWEEN 1 AND 100);
