-- +goose Up

SELECT add_event_types('pool.saved', 'pool.deleted');

-- A named template of factories that a scaler may start: what each of them would offer.
CREATE TABLE pool (
    workspace_id      uuid NOT NULL,
    id                uuid NOT NULL,
    name              text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 64),
    os                text NOT NULL DEFAULT '' CHECK (char_length(os) <= 64),
    engines           text[] NOT NULL DEFAULT '{}' CHECK (cardinality(engines) <= 32),
    capabilities      text[] NOT NULL DEFAULT '{}' CHECK (cardinality(capabilities) <= 64),
    repos             text[] NOT NULL DEFAULT '{}' CHECK (cardinality(repos) <= 200),
    seats             integer NOT NULL CHECK (seats BETWEEN 1 AND 100),
    -- How many factories there are at least, at most, and without a job.
    min_factories     integer NOT NULL CHECK (min_factories BETWEEN 0 AND max_factories),
    max_factories     integer NOT NULL CHECK (max_factories BETWEEN 0 AND 1000),
    min_idle          integer NOT NULL CHECK (min_idle BETWEEN 0 AND max_factories),
    cool_down_seconds integer NOT NULL CHECK (cool_down_seconds BETWEEN 0 AND 86400),
    -- The products whose jobs its factories may have, by name; none is all.
    product_scope     text[] NOT NULL DEFAULT '{}' CHECK (cardinality(product_scope) <= 100),
    -- All that a factory of it would advertise, sorted: what lanes are compared with.
    tokens            text[] NOT NULL DEFAULT '{}',
    created_at        timestamptz NOT NULL DEFAULT now(),
    updated_at        timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (workspace_id, id),
    CONSTRAINT pool_name_key UNIQUE (workspace_id, name),
    FOREIGN KEY (workspace_id) REFERENCES workspace(id) ON DELETE CASCADE
);

-- The pool that a factory said it belongs to when it registered.
ALTER TABLE factory ADD COLUMN pool_id uuid,
    ADD CONSTRAINT factory_pool FOREIGN KEY (workspace_id, pool_id) REFERENCES pool(workspace_id, id) ON DELETE SET NULL (pool_id);
CREATE INDEX factory_pool_idx ON factory (workspace_id, pool_id) WHERE pool_id IS NOT NULL;

-- A factory that a scaler has begun to start for a pool.
CREATE TABLE pool_start (
    workspace_id  uuid NOT NULL,
    id            uuid NOT NULL,
    pool_id       uuid NOT NULL,
    factory       text NOT NULL CHECK (char_length(factory) BETWEEN 1 AND 64),
    started_at    timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- When its first agent registered; both times are the database's, so that what lies
    -- between is what the start took.
    registered_at timestamptz,
    drained_at    timestamptz,
    ended_at      timestamptz,
    -- Whether it ended otherwise than its scaler wanted, and why.
    failed        boolean NOT NULL DEFAULT false,
    detail        text NOT NULL DEFAULT '' CHECK (char_length(detail) <= 500),
    by_name       text NOT NULL DEFAULT '',
    PRIMARY KEY (workspace_id, id),
    FOREIGN KEY (workspace_id, pool_id) REFERENCES pool(workspace_id, id) ON DELETE CASCADE
);
CREATE INDEX pool_start_newest ON pool_start (workspace_id, pool_id, started_at DESC, id);
CREATE INDEX pool_start_factory ON pool_start (workspace_id, factory, ended_at);
CREATE UNIQUE INDEX pool_start_open ON pool_start (workspace_id, factory) WHERE ended_at IS NULL;

-- The demand of a pool as it was, once a minute.
CREATE TABLE pool_sample (
    workspace_id uuid NOT NULL,
    pool_id      uuid NOT NULL,
    at           timestamptz NOT NULL,
    queued       integer NOT NULL,
    running      integer NOT NULL,
    value        integer NOT NULL,
    factories    integer NOT NULL,
    starting     integer NOT NULL,
    PRIMARY KEY (workspace_id, pool_id, at),
    FOREIGN KEY (workspace_id, pool_id) REFERENCES pool(workspace_id, id) ON DELETE CASCADE
);

-- +goose StatementBegin
DO $$
DECLARE
    t text;
BEGIN
    FOREACH t IN ARRAY ARRAY['pool', 'pool_start', 'pool_sample']
    LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', t);
        EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', t);
        EXECUTE format('CREATE POLICY workspace ON %I TO fleetboard_app
            USING (workspace_id = (SELECT nullif(current_setting(''app.workspace_id'', true), '''')::uuid))
            WITH CHECK (workspace_id = (SELECT nullif(current_setting(''app.workspace_id'', true), '''')::uuid))', t);
        EXECUTE format('GRANT SELECT, INSERT, DELETE, UPDATE ON %I TO fleetboard_app', t);
    END LOOP;
END
$$;
-- +goose StatementEnd
CREATE POLICY system ON pool FOR SELECT TO fleetboard_system USING (true);
GRANT SELECT (workspace_id) ON pool TO fleetboard_system;
