-- +goose Up

-- How tables are kept, by what happens to them. None of it changes a row.

-- Few rows, rewritten all the time. Every look at them reads past what is dead, so
-- they are vacuumed after a fixed number of dead rows, whatever their size, and
-- without pauses: it takes milliseconds. Heartbeats rewrite agent and job_lease:
-- half of each page is free, and no index may ever stand on what they change, so
-- that a new version stays on its page and enters no index. A vacuum that gives
-- empty pages at the end back takes the table from everybody while it does; the
-- next jobs need them anyway.
ALTER TABLE agent SET (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500,
    autovacuum_vacuum_cost_delay = 0, vacuum_truncate = false);
ALTER TABLE job_lease SET (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500,
    autovacuum_vacuum_cost_delay = 0, vacuum_truncate = false);
-- Rows come and go, and are not changed in between: no page needs room. Rows that
-- were only added need no vacuum, for they will not stay.
ALTER TABLE job_ready SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500,
    autovacuum_vacuum_insert_threshold = -1, autovacuum_vacuum_cost_delay = 0, autovacuum_analyze_scale_factor = 0.2,
    vacuum_truncate = false);
ALTER TABLE repo_slot SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 100,
    autovacuum_vacuum_insert_threshold = -1, autovacuum_vacuum_cost_delay = 0, vacuum_truncate = false);

-- Many rows, each changed a few times and then never again. Its status stands in
-- the board's indexes, so a change can enter all of them: a vacuum has to read
-- each index from end to end, and comes after a twentieth of the rows, not a
-- fiftieth. A fifth of each page is free, so that the versions of a job lie on one.
ALTER TABLE job SET (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 1000,
    autovacuum_vacuum_cost_delay = 1, autovacuum_analyze_scale_factor = 0.05);
-- One row for each lease, written at its claim, its start and its end; no index
-- stands on what the later two change.
ALTER TABLE attempt SET (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 1000,
    autovacuum_vacuum_insert_scale_factor = 0.02, autovacuum_vacuum_insert_threshold = 50000);
-- Only added to. What is new is vacuumed and frozen while it is in memory, a bit at
-- a time: left alone it would all be frozen one day, in one go.
ALTER TABLE event SET (autovacuum_vacuum_insert_scale_factor = 0.01, autovacuum_vacuum_insert_threshold = 50000,
    autovacuum_freeze_min_age = 100000, autovacuum_analyze_scale_factor = 0.05);
ALTER TABLE job_log SET (autovacuum_vacuum_insert_scale_factor = 0.01, autovacuum_vacuum_insert_threshold = 50000,
    autovacuum_freeze_min_age = 100000, autovacuum_analyze_scale_factor = 0.05);

-- How old the oldest transaction of this database is, and what keeps vacuum from
-- removing dead rows: the oldest snapshot, of a session, a prepared transaction or
-- a replication slot. Sessions of other logins are seen where the owner may see
-- them, a superuser or member of pg_read_all_stats; the others are counted. What
-- they run is told to nobody.
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
REVOKE ALL ON FUNCTION database_age() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION database_age() TO fleetboard_system;
