-- +goose Up

-- What finished jobs cost, for the estimates of others: one row for each that completed
-- or failed and of which the cost is known. It outlives its job, and so refers to none.
CREATE TABLE job_cost (
    workspace_id          uuid NOT NULL,
    job_id                uuid NOT NULL,
    ended_at              timestamptz NOT NULL,
    kind                  text NOT NULL,
    repo                  text NOT NULL,
    -- As it was said, or by the expected minutes; 0 was not said.
    complexity            smallint NOT NULL CHECK (complexity BETWEEN 0 AND 5),
    priority              smallint NOT NULL,
    failures              integer NOT NULL,
    -- The one that most tokens are of.
    model                 text NOT NULL,
    input_tokens          bigint NOT NULL,
    cache_read_tokens     bigint NOT NULL,
    cache_write_tokens    bigint NOT NULL,
    cache_write_1h_tokens bigint NOT NULL,
    output_tokens         bigint NOT NULL,
    tokens                bigint NOT NULL CHECK (tokens > 0), -- of all kinds
    -- What was charged, and what a flat rate would have been without it.
    cost_nanos            bigint NOT NULL CHECK (cost_nanos > 0),
    PRIMARY KEY (workspace_id, job_id),
    FOREIGN KEY (workspace_id) REFERENCES workspace(id) ON DELETE CASCADE
);
-- The newest of each group that an estimate looks at.
CREATE INDEX job_cost_ended ON job_cost (workspace_id, ended_at DESC, job_id DESC);
CREATE INDEX job_cost_kind ON job_cost (workspace_id, kind, ended_at DESC, job_id DESC);
CREATE INDEX job_cost_complexity ON job_cost (workspace_id, kind, complexity, ended_at DESC, job_id DESC);
CREATE INDEX job_cost_repo ON job_cost (workspace_id, kind, complexity, repo, ended_at DESC, job_id DESC);

-- Up to which finished job the history goes.
CREATE TABLE job_cost_cursor (
    workspace_id uuid NOT NULL PRIMARY KEY REFERENCES workspace(id) ON DELETE CASCADE,
    ended_at     timestamptz NOT NULL,
    job_id       uuid NOT NULL
);

-- Each shows and takes only rows of the transaction's workspace. Outside a transaction
-- the setting is the empty string, hence nullif; the sub-select makes it evaluated
-- once, not per row.
-- +goose StatementBegin
DO $$
DECLARE
    t text;
BEGIN
    FOREACH t IN ARRAY ARRAY['job_cost', 'job_cost_cursor']
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

GRANT SELECT, INSERT, UPDATE ON job_cost, job_cost_cursor TO fleetboard_app;
