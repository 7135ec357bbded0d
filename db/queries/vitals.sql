-- name: DatabaseAge :one
SELECT oldest_transaction_seconds::float8 AS oldest_transaction_seconds, oldest_snapshot_seconds::float8 AS oldest_snapshot_seconds,
    oldest_snapshot_transactions::bigint AS oldest_snapshot_transactions, unseen_sessions::int AS unseen_sessions
FROM database_age();

-- name: AnalyzeGrownTables :one
SELECT analyze_grown_tables()::int AS counted;

-- name: TableVitals :many
-- What PostgreSQL counted of the tables that are rewritten or added to all the time.
SELECT s.relname::text AS name, coalesce(s.n_live_tup, 0)::bigint AS live, coalesce(s.n_dead_tup, 0)::bigint AS dead,
    coalesce(s.n_tup_upd, 0)::bigint AS updates, coalesce(s.n_tup_hot_upd, 0)::bigint AS hot_updates,
    (coalesce(s.vacuum_count, 0) + coalesce(s.autovacuum_count, 0))::bigint AS vacuums
FROM pg_catalog.pg_stat_user_tables s
WHERE s.schemaname = 'public'
    AND s.relname IN ('agent', 'job_lease', 'job_ready', 'repo_slot', 'job', 'attempt', 'event', 'job_log')
ORDER BY s.relname;
