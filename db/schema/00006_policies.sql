-- +goose Up

-- Every table with workspace_id shows and takes only rows of the transaction's
-- workspace. Outside a transaction the setting is the empty string, hence
-- nullif; the sub-select makes it evaluated once, not per row.
-- +goose StatementBegin
DO $$
DECLARE
    t text;
BEGIN
    FOREACH t IN ARRAY ARRAY['membership', 'access_token', 'job_number', 'product', 'product_repo', 'factory',
        'agent', 'lane', 'job', 'job_text', 'job_ready', 'job_lease', 'attempt', 'job_dependency',
        'idempotent_request', 'event']
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

ALTER TABLE workspace ENABLE ROW LEVEL SECURITY;
ALTER TABLE workspace FORCE ROW LEVEL SECURITY;
CREATE POLICY workspace ON workspace TO fleetboard_app
    USING (id = (SELECT nullif(current_setting('app.workspace_id', true), '')::uuid))
    WITH CHECK (id = (SELECT nullif(current_setting('app.workspace_id', true), '')::uuid));

-- A person sees the own memberships, and the workspaces they lead to, before
-- one of them is chosen.
CREATE POLICY own ON membership FOR SELECT TO fleetboard_app
    USING (account_id = (SELECT nullif(current_setting('app.account_id', true), '')::uuid));
CREATE POLICY member ON workspace FOR SELECT TO fleetboard_app
    USING (id IN (SELECT m.workspace_id FROM membership m
        WHERE m.account_id = (SELECT nullif(current_setting('app.account_id', true), '')::uuid)));

-- A token is found by its hash, before its workspace is known.
CREATE POLICY bearer ON access_token FOR SELECT TO fleetboard_app
    USING (token_hash = (SELECT decode(nullif(current_setting('app.token_hash', true), ''), 'hex')));

-- Loops learn where there is work; they do it in a transaction of that workspace.
CREATE POLICY system ON workspace FOR SELECT TO fleetboard_system USING (true);
CREATE POLICY system ON job_lease FOR SELECT TO fleetboard_system USING (true);
CREATE POLICY system ON job FOR SELECT TO fleetboard_system USING (true);
CREATE POLICY system ON agent FOR SELECT TO fleetboard_system USING (true);
GRANT SELECT (id, slug) ON workspace TO fleetboard_system;
GRANT SELECT (workspace_id, job_id, agent_id, expires_at, grace_ends_at) ON job_lease TO fleetboard_system;
GRANT SELECT (workspace_id, id, status, wait_reason, not_before) ON job TO fleetboard_system;
GRANT SELECT (workspace_id, id, last_heartbeat_at, dead_after_seconds) ON agent TO fleetboard_system;

GRANT SELECT, INSERT, UPDATE ON workspace TO fleetboard_app;
GRANT SELECT, INSERT, UPDATE, DELETE ON membership, access_token, job_number, product, product_repo, factory, agent,
    job, job_text, job_ready, job_lease, job_dependency, idempotent_request TO fleetboard_app;
-- What is kept for ever cannot be taken away by the application.
GRANT SELECT, INSERT ON lane, event TO fleetboard_app;
GRANT SELECT, INSERT, UPDATE ON attempt TO fleetboard_app;
-- Tables of people, in no workspace.
GRANT SELECT, INSERT, UPDATE, DELETE ON account, session, login_throttle, setup_link TO fleetboard_app;
