-- +goose Up

CREATE TABLE access_token (
    workspace_id uuid NOT NULL,
    id           uuid NOT NULL,
    kind         text NOT NULL CHECK (kind IN ('person', 'enrolment')),
    name         text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 100),
    -- SHA-256 of the whole token; the token itself is shown once and kept nowhere.
    token_hash   bytea NOT NULL,
    hint         text NOT NULL,
    account_id   uuid,
    -- Scope; empty limits nothing.
    products     text[] NOT NULL DEFAULT '{}',
    capabilities text[] NOT NULL DEFAULT '{}',
    factory      text NOT NULL DEFAULT '',
    created_by   text NOT NULL,
    created_at   timestamptz NOT NULL DEFAULT now(),
    expires_at   timestamptz,
    last_used_at timestamptz,
    revoked_at   timestamptz,
    -- A form that is sent twice makes one token.
    form_key     text NOT NULL DEFAULT '' CHECK (char_length(form_key) <= 64),
    -- Whether the agents that register with the token may create jobs.
    may_submit   boolean NOT NULL DEFAULT false,
    PRIMARY KEY (workspace_id, id),
    CONSTRAINT access_token_hash_key UNIQUE (token_hash),
    FOREIGN KEY (account_id) REFERENCES account(id) ON DELETE CASCADE,
    FOREIGN KEY (workspace_id) REFERENCES workspace(id) ON DELETE CASCADE,
    CHECK ((kind = 'person') = (account_id IS NOT NULL)),
    CHECK ((NOT may_submit) OR (kind = 'enrolment'))
);
CREATE INDEX access_token_account ON access_token (account_id) WHERE (account_id IS NOT NULL);
CREATE UNIQUE INDEX access_token_form ON access_token (workspace_id, form_key) WHERE (form_key <> '');

-- What agents' tokens, which carry all that they say, have to be held against:
-- an enrolment token that was revoked, an agent whose tokens up to a generation
-- have ended. Every process keeps the rows in memory. They live a little longer
-- than such a token.
CREATE TABLE revocation (
    workspace_id uuid NOT NULL,
    -- Of an access_token or of an agent.
    subject      uuid NOT NULL,
    reason       text NOT NULL CHECK (reason IN ('revoked', 'cut_off', 'superseded')),
    -- The first generation that is good again; 0 for an access token, where none is.
    floor        bigint NOT NULL DEFAULT 0 CHECK (floor >= 0),
    at           timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (workspace_id, subject),
    FOREIGN KEY (workspace_id) REFERENCES workspace(id) ON DELETE CASCADE
);
CREATE INDEX revocation_at ON revocation (at);

-- Each shows and takes only rows of the transaction's workspace. Outside a transaction
-- the setting is the empty string, hence nullif; the sub-select makes it evaluated
-- once, not per row.
-- +goose StatementBegin
DO $$
DECLARE
    t text;
BEGIN
    FOREACH t IN ARRAY ARRAY['access_token', 'revocation']
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

-- A token is found by its hash, before its workspace is known.
CREATE POLICY bearer ON access_token FOR SELECT TO fleetboard_app
    USING ((token_hash = (SELECT decode(nullif(current_setting('app.token_hash', true), ''), 'hex'))));
GRANT SELECT, INSERT, DELETE, UPDATE ON access_token TO fleetboard_app;
CREATE POLICY system ON revocation FOR SELECT TO fleetboard_system
    USING (true);
GRANT SELECT, INSERT, DELETE, UPDATE ON revocation TO fleetboard_app;
GRANT SELECT ON revocation TO fleetboard_system;
-- What the workspace asks of a token's person is told with the token.
CREATE POLICY bearer ON workspace FOR SELECT TO fleetboard_app
    USING ((id = (SELECT t.workspace_id
   FROM access_token t
  WHERE (t.token_hash = (SELECT decode(nullif(current_setting('app.token_hash', true), ''), 'hex'))))));
-- Whose token it is, and with which role, is told with the token, before its
-- workspace is known: its bearer sees the one membership that it stands for.
CREATE POLICY bearer ON membership FOR SELECT TO fleetboard_app
    USING (((workspace_id, account_id) = (SELECT t.workspace_id,
    t.account_id
   FROM access_token t
  WHERE (t.token_hash = (SELECT decode(nullif(current_setting('app.token_hash', true), ''), 'hex'))))));

