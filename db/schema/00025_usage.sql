-- +goose Up

-- What one message to a model used: tokens, each kind apart because each has its
-- own price, and what it cost where the agent knows that. Only added to. The id is
-- the message's own: it is told many times, also by a session that goes on on
-- another host, and the first telling counts. It outlives its job, and so refers
-- to none: the money was spent.
CREATE TABLE usage_entry (
    workspace_id       uuid NOT NULL REFERENCES workspace ON DELETE CASCADE,
    id                 text NOT NULL CHECK (char_length(id) BETWEEN 1 AND 200),
    job_id             uuid NOT NULL,
    epoch              bigint NOT NULL CHECK (epoch > 0),
    agent_id           uuid NOT NULL,
    -- The product of the job when it was told.
    product_id         uuid NOT NULL,
    provider           text NOT NULL CHECK (char_length(provider) BETWEEN 1 AND 64),
    model              text NOT NULL CHECK (char_length(model) BETWEEN 1 AND 128),
    provider_session   text NOT NULL CHECK (char_length(provider_session) <= 200),
    -- Without those that were read from or written to a cache.
    input_tokens       bigint NOT NULL CHECK (input_tokens BETWEEN 0 AND 1000000000),
    output_tokens      bigint NOT NULL CHECK (output_tokens BETWEEN 0 AND 1000000000),
    cache_read_tokens  bigint NOT NULL CHECK (cache_read_tokens BETWEEN 0 AND 1000000000),
    cache_write_tokens bigint NOT NULL CHECK (cache_write_tokens BETWEEN 0 AND 1000000000),
    -- Billionths of a dollar; NULL is unknown, which is not nothing.
    cost_nanos         bigint CHECK (cost_nanos BETWEEN 0 AND 1000000000000),
    operation          text NOT NULL CHECK (char_length(operation) <= 64),
    -- The agent's clock; recorded_at is ours.
    at                 timestamptz NOT NULL,
    recorded_at        timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (workspace_id, id)
) WITH (autovacuum_vacuum_insert_scale_factor = 0.01, autovacuum_vacuum_insert_threshold = 50000,
    autovacuum_freeze_min_age = 100000, autovacuum_analyze_scale_factor = 0.05);

-- The sums of the entries of one attempt, raised by the statement that adds them.
-- cost_nanos is that of the entries with a known cost, unpriced the number of the
-- others. No index may stand on what is raised.
CREATE TABLE job_usage (
    workspace_id       uuid NOT NULL,
    job_id             uuid NOT NULL,
    epoch              bigint NOT NULL,
    entries            bigint NOT NULL CHECK (entries > 0),
    input_tokens       bigint NOT NULL,
    output_tokens      bigint NOT NULL,
    cache_read_tokens  bigint NOT NULL,
    cache_write_tokens bigint NOT NULL,
    cost_nanos         bigint NOT NULL,
    unpriced           bigint NOT NULL CHECK (unpriced BETWEEN 0 AND entries),
    PRIMARY KEY (workspace_id, job_id, epoch),
    FOREIGN KEY (workspace_id, job_id, epoch) REFERENCES attempt ON DELETE CASCADE
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000,
    autovacuum_vacuum_cost_delay = 0);

-- +goose StatementBegin
DO $$
DECLARE
    t text;
BEGIN
    FOREACH t IN ARRAY ARRAY['usage_entry', 'job_usage']
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

-- What was spent cannot be taken away or rewritten by the application.
GRANT SELECT, INSERT ON usage_entry TO fleetboard_app;
GRANT SELECT, INSERT, UPDATE ON job_usage TO fleetboard_app;
