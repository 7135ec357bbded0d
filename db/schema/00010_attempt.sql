-- +goose Up

-- The record of one lease, from claim to end, kept for ever.
CREATE TABLE attempt (
    workspace_id     uuid NOT NULL,
    job_id           uuid NOT NULL,
    epoch            bigint NOT NULL,
    -- Names as they were: an agent may be renamed or removed later.
    agent            text NOT NULL,
    factory          text NOT NULL,
    model            text NOT NULL DEFAULT '',
    session_key      text NOT NULL DEFAULT '',
    claimed_at       timestamptz NOT NULL DEFAULT now(),
    started_at       timestamptz,
    ended_at         timestamptz,
    outcome          text NOT NULL DEFAULT '' CHECK (outcome IN ('', 'completed', 'failed', 'released', 'lost',
        'cancelled', 'paused', 'asked', 'blocked', 'timeout', 'rejected')),
    error            text NOT NULL DEFAULT '',
    error_kind       text NOT NULL DEFAULT '',
    progress_percent smallint,
    current_step     text NOT NULL DEFAULT '',
    checkpoint       jsonb,
    result           jsonb,
    -- SHA-256 of the completing request: the same request again gets the same answer.
    result_digest    bytea,
    -- How many jobs an agent created while it worked on this one.
    submitted        smallint NOT NULL DEFAULT 0 CHECK (submitted >= 0),
    agent_id         uuid,
    PRIMARY KEY (job_id, epoch, workspace_id),
    CHECK ((outcome = '') = (ended_at IS NULL))
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 1000,
    autovacuum_vacuum_insert_scale_factor = 0.02, autovacuum_vacuum_insert_threshold = 50000);
-- The attempts of an agent, the newest first. What changes of an attempt is not in
-- the index, so that its end still is a change within its page.
CREATE INDEX attempt_agent ON attempt (agent_id, claimed_at, job_id, epoch);

-- What one message to a model used: tokens, each kind apart because each has its
-- own price, and what it cost where the agent knows that. Only added to. The id is
-- the message's own: it is told many times, also by a session that goes on on
-- another host, and the first telling counts. It outlives its job, and so refers
-- to none: the money was spent.
CREATE TABLE usage_entry (
    workspace_id       uuid NOT NULL,
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
    cost_nanos         bigint CHECK ((cost_nanos >= 0) AND (cost_nanos <= '1000000000000'::bigint)),
    operation          text NOT NULL CHECK (char_length(operation) <= 64),
    -- The agent's clock; recorded_at is ours.
    at                 timestamptz NOT NULL,
    recorded_at        timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (workspace_id, id),
    FOREIGN KEY (workspace_id) REFERENCES workspace(id) ON DELETE CASCADE
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
    unpriced           bigint NOT NULL,
    PRIMARY KEY (workspace_id, job_id, epoch),
    FOREIGN KEY (workspace_id, job_id, epoch) REFERENCES attempt(workspace_id, job_id, epoch) ON DELETE CASCADE,
    CHECK ((unpriced >= 0) AND (unpriced <= entries))
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000,
    autovacuum_vacuum_cost_delay = 0);

-- What agents write down while they work.
CREATE TABLE job_log (
    workspace_id uuid NOT NULL,
    id           bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
    job_id       uuid NOT NULL,
    epoch        bigint NOT NULL,
    agent        text NOT NULL,
    level        text NOT NULL CHECK (level IN ('DEBUG', 'INFO', 'WARNING', 'ERROR', 'CRITICAL')),
    event        text NOT NULL DEFAULT '' CHECK (char_length(event) <= 64),
    message      text NOT NULL CHECK (char_length(message) <= 10000),
    details      jsonb NOT NULL DEFAULT '{}',
    -- The agent's clock, where it gave one; received_at is ours.
    at           timestamptz,
    received_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- The agent's own name for a line, where it gives one: a line that is sent again
    -- under the same lease is kept once.
    line_id      text CHECK (char_length(line_id) BETWEEN 1 AND 200),
    PRIMARY KEY (workspace_id, id),
    FOREIGN KEY (workspace_id, job_id) REFERENCES job(workspace_id, id) ON DELETE CASCADE
) WITH (autovacuum_vacuum_insert_scale_factor = 0.01, autovacuum_vacuum_insert_threshold = 50000,
    autovacuum_freeze_min_age = 100000, autovacuum_analyze_scale_factor = 0.05);
CREATE INDEX job_log_age ON job_log (workspace_id, received_at);
-- Lines of one attempt, and those of a workspace by age: a loop deletes the old
-- ones workspace by workspace.
CREATE INDEX job_log_attempt ON job_log (workspace_id, job_id, epoch, id);
CREATE INDEX job_log_job ON job_log (workspace_id, job_id, id);
CREATE UNIQUE INDEX job_log_line ON job_log (workspace_id, job_id, epoch, line_id) WHERE (line_id IS NOT NULL);

-- How much the log of a job has taken: a writer has a limit for each minute, each
-- attempt and each job. Its row is written under the lock of the job's lease.
CREATE TABLE job_log_use (
    workspace_id  uuid NOT NULL,
    job_id        uuid NOT NULL,
    job_bytes     bigint NOT NULL,
    -- The attempt that wrote last, and what it has written.
    epoch         bigint NOT NULL,
    attempt_bytes bigint NOT NULL,
    -- The same of the minute in which was written last.
    minute        timestamptz NOT NULL,
    minute_bytes  bigint NOT NULL,
    -- The line that says how many were left out, while none was kept since.
    left_out_line bigint,
    left_out      bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (workspace_id, job_id),
    FOREIGN KEY (workspace_id, job_id) REFERENCES job(workspace_id, id) ON DELETE CASCADE
) WITH (fillfactor = 70);

-- Each shows and takes only rows of the transaction's workspace. Outside a transaction
-- the setting is the empty string, hence nullif; the sub-select makes it evaluated
-- once, not per row.
-- +goose StatementBegin
DO $$
DECLARE
    t text;
BEGIN
    FOREACH t IN ARRAY ARRAY['attempt', 'usage_entry', 'job_usage', 'job_log', 'job_log_use']
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

GRANT SELECT, INSERT, UPDATE ON attempt TO fleetboard_app;
GRANT SELECT, INSERT ON usage_entry TO fleetboard_app;
GRANT SELECT, INSERT, UPDATE ON job_usage TO fleetboard_app;
GRANT SELECT, INSERT, DELETE ON job_log TO fleetboard_app;
GRANT UPDATE (message, details) ON job_log TO fleetboard_app;
GRANT SELECT, INSERT, UPDATE ON job_log_use TO fleetboard_app;

