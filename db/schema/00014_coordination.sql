-- +goose Up

-- Who leads, one row for each office. Leadership is an economy, never a proof:
-- all that a leader writes is safe if two lead.
CREATE TABLE leadership (
    name          text NOT NULL,
    holder        text NOT NULL,
    -- Rises with each new holder.
    term          bigint NOT NULL,
    acquired_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
    renewed_at    timestamptz NOT NULL DEFAULT clock_timestamp(),
    expires_at    timestamptz NOT NULL,
    last_cycle_at timestamptz,
    cycle_count   bigint NOT NULL DEFAULT 0,
    -- Numbers of the cycles of this term, by name.
    stats         jsonb NOT NULL DEFAULT '{}',
    PRIMARY KEY (name)
);

-- What the coordinator did, for people to read. Lines without a workspace are
-- about the server as a whole.
CREATE TABLE coordinator_log (
    id           bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
    workspace_id uuid,
    at           timestamptz NOT NULL DEFAULT clock_timestamp(),
    instance_id  text NOT NULL,
    term         bigint NOT NULL,
    level        text NOT NULL CHECK (level IN ('DEBUG', 'INFO', 'WARNING', 'ERROR', 'CRITICAL')),
    message      text NOT NULL,
    details      jsonb NOT NULL DEFAULT '{}',
    PRIMARY KEY (id),
    FOREIGN KEY (workspace_id) REFERENCES workspace(id) ON DELETE CASCADE
);
CREATE INDEX coordinator_log_age ON coordinator_log (at);
-- The coordinator's lines of one workspace, and those of the server as a whole.
CREATE INDEX coordinator_log_workspace ON coordinator_log (workspace_id, id);

GRANT SELECT, INSERT, UPDATE ON leadership TO fleetboard_app;
ALTER TABLE coordinator_log ENABLE ROW LEVEL SECURITY;
ALTER TABLE coordinator_log FORCE ROW LEVEL SECURITY;
CREATE POLICY system ON coordinator_log FOR SELECT TO fleetboard_system
    USING (true);
CREATE POLICY workspace ON coordinator_log TO fleetboard_app
    USING (((workspace_id IS NULL) OR (workspace_id = (SELECT (nullif(current_setting('app.workspace_id', true), ''))::uuid))))
    WITH CHECK ((NOT (workspace_id IS DISTINCT FROM (SELECT (nullif(current_setting('app.workspace_id', true), ''))::uuid))));
GRANT SELECT, INSERT, DELETE ON coordinator_log TO fleetboard_app;
GRANT SELECT (workspace_id, at) ON coordinator_log TO fleetboard_system;

-- +goose StatementBegin
CREATE FUNCTION database_age(OUT oldest_transaction_seconds float8, OUT oldest_snapshot_seconds float8,
    OUT oldest_snapshot_transactions bigint, OUT unseen_sessions integer)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS
$$
    WITH session AS (
        SELECT s.xact_start AS began, s.backend_xmin AS horizon, s.state IS NULL AND s.backend_type IS NULL AS unseen
        FROM pg_stat_activity s
        WHERE s.datid = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database()) AND s.pid <> pg_backend_pid()
            AND s.backend_type IS DISTINCT FROM 'autovacuum worker'
    ), prepared AS (
        SELECT p.prepared AS began, p.transaction AS horizon FROM pg_prepared_xacts p WHERE p.database = current_database()
    ), slot AS (
        SELECT r.xmin AS horizon FROM pg_replication_slots r
    )
    SELECT coalesce(extract(epoch FROM clock_timestamp() - least((SELECT min(began) FROM session), (SELECT min(began) FROM prepared))), 0)::float8,
        coalesce(extract(epoch FROM clock_timestamp() - least((SELECT min(began) FROM session WHERE horizon IS NOT NULL),
            (SELECT min(began) FROM prepared))), 0)::float8,
        coalesce(greatest((SELECT max(age(horizon)) FROM session), (SELECT max(age(horizon)) FROM prepared),
            (SELECT max(age(horizon)) FROM slot)), 0)::bigint,
        (SELECT count(*) FROM session WHERE unseen)::integer
$$;
-- +goose StatementEnd
REVOKE ALL ON FUNCTION database_age(OUT oldest_transaction_seconds double precision,
    OUT oldest_snapshot_seconds double precision, OUT oldest_snapshot_transactions bigint,
    OUT unseen_sessions integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION database_age(OUT oldest_transaction_seconds double precision,
    OUT oldest_snapshot_seconds double precision, OUT oldest_snapshot_transactions bigint,
    OUT unseen_sessions integer) TO fleetboard_system;

