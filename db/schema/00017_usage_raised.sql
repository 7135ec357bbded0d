-- +goose Up
SELECT add_event_types('price.saved', 'usage.priced');

-- Dollars for tokens, as a workspace says: rows of its own over the built-in list. A
-- row holds from valid_from until the next one of the same provider and model. What was
-- booked by a row keeps it, so rows are only added.
CREATE TABLE price (
    workspace_id   uuid NOT NULL,
    id             bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
    provider       text NOT NULL CHECK (char_length(provider) BETWEEN 1 AND 64),
    -- Exact, or with one * for any text.
    model          text NOT NULL CHECK (char_length(model) BETWEEN 1 AND 128),
    valid_from     timestamptz NOT NULL,
    -- Millionths of a dollar for a million tokens, which are pico-dollars for one.
    input          bigint NOT NULL CHECK (input BETWEEN 0 AND 1000000000),
    cache_read     bigint NOT NULL CHECK (cache_read BETWEEN 0 AND 1000000000),
    cache_write    bigint NOT NULL CHECK (cache_write BETWEEN 0 AND 1000000000),
    cache_write_1h bigint NOT NULL CHECK (cache_write_1h BETWEEN 0 AND 1000000000),
    output         bigint NOT NULL CHECK (output BETWEEN 0 AND 1000000000),
    -- A plan at a flat rate: what the tokens would have cost is imputed and not charged.
    flat_rate      boolean NOT NULL DEFAULT false,
    source         text NOT NULL DEFAULT '' CHECK (char_length(source) <= 500),
    created_by     text NOT NULL,
    created_at     timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (workspace_id, id),
    CONSTRAINT price_valid_from_key UNIQUE (workspace_id, provider, model, valid_from),
    FOREIGN KEY (workspace_id) REFERENCES workspace(id) ON DELETE CASCADE
);

-- Policies that are forced hide the rows from an owner that is no superuser; they are
-- forced again at the end.
ALTER TABLE usage_entry NO FORCE ROW LEVEL SECURITY;
ALTER TABLE job_usage NO FORCE ROW LEVEL SECURITY;
ALTER TABLE job NO FORCE ROW LEVEL SECURITY;
ALTER TABLE attempt NO FORCE ROW LEVEL SECURITY;

-- An entry is told many times and raised, meter by meter, to the larger number.
ALTER TABLE usage_entry RENAME COLUMN cost_nanos TO reported_nanos;
ALTER TABLE usage_entry
    ADD COLUMN cache_write_1h_tokens bigint NOT NULL DEFAULT 0 CHECK (cache_write_1h_tokens BETWEEN 0 AND 1000000000),
    -- The price that it was booked by when it was first told: a row of price, or below
    -- zero one of the built-in list. NULL has none, so what it cost is unknown.
    ADD COLUMN price_id bigint,
    -- By that price; NULL is unknown, which is not nothing.
    ADD COLUMN computed_nanos bigint CHECK (computed_nanos >= 0),
    -- What the budgets were charged: computed, or else reported, and nothing at a flat rate.
    ADD COLUMN charged_nanos bigint NOT NULL DEFAULT 0 CHECK (charged_nanos >= 0),
    -- Told after its lease had ended.
    ADD COLUMN late boolean NOT NULL DEFAULT false,
    -- The instant that its price, its hour and its budgets' periods go by: the agent's,
    -- within the lease as the database's clock knows it.
    ADD COLUMN booked_at timestamptz NOT NULL DEFAULT now();
UPDATE usage_entry SET charged_nanos = coalesce(reported_nanos, 0), booked_at = recorded_at;
CREATE INDEX usage_entry_booked ON usage_entry (workspace_id, booked_at, id);
-- Those that a price may still be found for.
CREATE INDEX usage_entry_unpriced ON usage_entry (workspace_id, booked_at, id) WHERE price_id IS NULL AND reported_nanos IS NULL;

-- That a workspace has new prices, by which what has no known cost is to be priced: what
-- is booked from since on, of which after is done. At the end of a pass the row goes,
-- unless something was locked by others, or records that began before the prices were
-- saved may still come.
CREATE TABLE usage_pricing (
    workspace_id uuid PRIMARY KEY REFERENCES workspace(id) ON DELETE CASCADE,
    since        timestamptz NOT NULL,
    after_at     timestamptz NOT NULL,
    after_id     text NOT NULL,
    was_locked   boolean NOT NULL DEFAULT false,
    saved_at     timestamptz NOT NULL
);

-- What is offered to a row of sums is a difference, which checks would look at.
ALTER TABLE job_usage DROP CONSTRAINT job_usage_entries_check;
ALTER TABLE job_usage DROP CONSTRAINT job_usage_check;
ALTER TABLE job_usage RENAME COLUMN cost_nanos TO reported_nanos;
ALTER TABLE job_usage
    ADD COLUMN cache_write_1h_tokens bigint NOT NULL DEFAULT 0,
    ADD COLUMN charged_nanos bigint NOT NULL DEFAULT 0,
    ADD COLUMN computed_nanos bigint NOT NULL DEFAULT 0,
    ADD COLUMN imputed_nanos bigint NOT NULL DEFAULT 0,
    ADD COLUMN unpriced_tokens bigint NOT NULL DEFAULT 0,
    -- What was charged since the last progress of the lease, which was at since_at.
    ADD COLUMN since_nanos bigint NOT NULL DEFAULT 0,
    ADD COLUMN since_at timestamptz;
UPDATE job_usage SET charged_nanos = reported_nanos,
    unpriced_tokens = input_tokens + output_tokens + cache_read_tokens + cache_write_tokens;

-- The sums of entries by the hour, the lease and the model: all that reports are made of,
-- raised by the statement that raises the entries. Names are as they were.
CREATE TABLE usage_hour (
    workspace_id          uuid NOT NULL,
    hour                  timestamptz NOT NULL,
    job_id                uuid NOT NULL,
    epoch                 bigint NOT NULL,
    provider              text NOT NULL,
    model                 text NOT NULL,
    product_id            uuid NOT NULL,
    phase                 text NOT NULL,
    repo                  text NOT NULL,
    agent                 text NOT NULL,
    factory               text NOT NULL,
    entries               bigint NOT NULL,
    input_tokens          bigint NOT NULL,
    output_tokens         bigint NOT NULL,
    cache_read_tokens     bigint NOT NULL,
    cache_write_tokens    bigint NOT NULL,
    cache_write_1h_tokens bigint NOT NULL,
    charged_nanos         bigint NOT NULL,
    computed_nanos        bigint NOT NULL,
    reported_nanos        bigint NOT NULL,
    imputed_nanos         bigint NOT NULL,
    unpriced_tokens       bigint NOT NULL,
    -- The number of entries whose cost is unknown.
    unpriced              bigint NOT NULL,
    PRIMARY KEY (workspace_id, hour, job_id, epoch, provider, model, product_id),
    FOREIGN KEY (workspace_id) REFERENCES workspace(id) ON DELETE CASCADE
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 1000);
CREATE INDEX usage_hour_job ON usage_hour (workspace_id, job_id, epoch);
-- What was told before: under the names of today.
INSERT INTO usage_hour (workspace_id, hour, job_id, epoch, provider, model, product_id, phase, repo, agent, factory, entries, input_tokens,
    output_tokens, cache_read_tokens, cache_write_tokens, cache_write_1h_tokens, charged_nanos, computed_nanos, reported_nanos,
    imputed_nanos, unpriced_tokens, unpriced)
SELECT e.workspace_id, date_trunc('hour', e.booked_at, 'UTC'), e.job_id, e.epoch, e.provider, e.model, e.product_id,
    coalesce(min(j.phase), ''), coalesce(min(j.repo), ''), coalesce(min(a.agent), ''), coalesce(min(a.factory), ''), count(*),
    sum(e.input_tokens), sum(e.output_tokens), sum(e.cache_read_tokens), sum(e.cache_write_tokens), 0, sum(e.charged_nanos), 0,
    coalesce(sum(e.reported_nanos), 0), 0, sum(e.input_tokens + e.output_tokens + e.cache_read_tokens + e.cache_write_tokens),
    count(*) FILTER (WHERE e.reported_nanos IS NULL)
FROM usage_entry e
LEFT JOIN job j ON j.workspace_id = e.workspace_id AND j.id = e.job_id
LEFT JOIN attempt a ON a.workspace_id = e.workspace_id AND a.job_id = e.job_id AND a.epoch = e.epoch
GROUP BY e.workspace_id, 2, e.job_id, e.epoch, e.provider, e.model, e.product_id;

ALTER TABLE usage_entry FORCE ROW LEVEL SECURITY;
ALTER TABLE job_usage FORCE ROW LEVEL SECURITY;
ALTER TABLE job FORCE ROW LEVEL SECURITY;
ALTER TABLE attempt FORCE ROW LEVEL SECURITY;

-- Each shows and takes only rows of the transaction's workspace. Outside a transaction
-- the setting is the empty string, hence nullif; the sub-select makes it evaluated
-- once, not per row.
-- +goose StatementBegin
DO $$
DECLARE
    t text;
BEGIN
    FOREACH t IN ARRAY ARRAY['price', 'usage_hour', 'usage_pricing']
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

GRANT SELECT, INSERT ON price TO fleetboard_app;
GRANT SELECT, INSERT, UPDATE ON usage_hour TO fleetboard_app;
GRANT SELECT, INSERT, UPDATE, DELETE ON usage_pricing TO fleetboard_app;
CREATE POLICY system ON usage_pricing FOR SELECT TO fleetboard_system USING (true);
GRANT SELECT (workspace_id) ON usage_pricing TO fleetboard_system;
GRANT UPDATE (input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, cache_write_1h_tokens, reported_nanos, computed_nanos,
    charged_nanos, price_id) ON usage_entry TO fleetboard_app;
