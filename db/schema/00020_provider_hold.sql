-- +goose Up
SELECT add_event_types('provider.held');

-- Whose models the agent works with; empty is unknown.
ALTER TABLE agent ADD COLUMN provider text NOT NULL DEFAULT '' CHECK (char_length(provider) <= 64);

-- Until when a provider takes no more requests, as it told an agent. The agents of that
-- provider which registered with the same token are given no jobs until then: one token's
-- agents cannot stop those of another.
CREATE TABLE provider_hold (
    workspace_id uuid NOT NULL,
    provider     text NOT NULL CHECK (char_length(provider) BETWEEN 1 AND 64),
    -- The enrolment token; all zeros for agents of which it is unknown.
    enrolment_id uuid NOT NULL,
    until        timestamptz NOT NULL,
    PRIMARY KEY (workspace_id, provider, enrolment_id),
    FOREIGN KEY (workspace_id) REFERENCES workspace(id) ON DELETE CASCADE
);
ALTER TABLE provider_hold ENABLE ROW LEVEL SECURITY;
ALTER TABLE provider_hold FORCE ROW LEVEL SECURITY;
CREATE POLICY workspace ON provider_hold TO fleetboard_app
    USING (workspace_id = (SELECT nullif(current_setting('app.workspace_id', true), '')::uuid))
    WITH CHECK (workspace_id = (SELECT nullif(current_setting('app.workspace_id', true), '')::uuid));
GRANT SELECT, INSERT, UPDATE ON provider_hold TO fleetboard_app;
