-- +goose Up

-- A form that is sent twice makes one token.
ALTER TABLE access_token ADD COLUMN form_key text NOT NULL DEFAULT '' CHECK (char_length(form_key) <= 64);
CREATE UNIQUE INDEX access_token_form ON access_token (workspace_id, form_key) WHERE form_key <> '';
CREATE INDEX access_token_account ON access_token (account_id) WHERE account_id IS NOT NULL;

-- The enrolment token that the agent registered with last; unknown for those
-- from before. Tokens of a generation below the agent's are refused.
ALTER TABLE agent ADD COLUMN enrolment_id uuid;
ALTER TABLE agent ADD COLUMN generation bigint NOT NULL DEFAULT 0 CHECK (generation >= 0);
-- Set while a boot that a person cut off is the last one known.
ALTER TABLE agent ADD COLUMN cut_off_at timestamptz;

-- What agents' tokens, which carry all that they say, have to be held against:
-- an enrolment token that was revoked, an agent whose tokens up to a generation
-- have ended. Every process keeps the rows in memory. They live a little longer
-- than such a token.
CREATE TABLE revocation (
    workspace_id uuid NOT NULL REFERENCES workspace ON DELETE CASCADE,
    -- Of an access_token or of an agent.
    subject      uuid NOT NULL,
    reason       text NOT NULL CHECK (reason IN ('revoked', 'cut_off', 'superseded')),
    -- The first generation that is good again; 0 for an access token, where none is.
    floor        bigint NOT NULL DEFAULT 0 CHECK (floor >= 0),
    at           timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (workspace_id, subject)
);
CREATE INDEX revocation_at ON revocation (at);

ALTER TABLE revocation ENABLE ROW LEVEL SECURITY;
ALTER TABLE revocation FORCE ROW LEVEL SECURITY;
CREATE POLICY workspace ON revocation TO fleetboard_app
    USING (workspace_id = (SELECT nullif(current_setting('app.workspace_id', true), '')::uuid))
    WITH CHECK (workspace_id = (SELECT nullif(current_setting('app.workspace_id', true), '')::uuid));
CREATE POLICY system ON revocation FOR SELECT TO fleetboard_system USING (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON revocation TO fleetboard_app;
GRANT SELECT ON revocation TO fleetboard_system;
