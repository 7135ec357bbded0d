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
    coalesce(s.n_tup_ins, 0)::bigint AS inserts,
    (coalesce(s.vacuum_count, 0) + coalesce(s.autovacuum_count, 0))::bigint AS vacuums
FROM pg_catalog.pg_stat_user_tables s
WHERE s.schemaname = 'public'
    AND s.relname IN ('agent', 'job_lease', 'job_ready', 'repo_slot', 'job', 'attempt', 'event', 'job_log')
ORDER BY s.relname;

-- name: JobTotals :many
-- How many jobs of all workspaces stand in each status. Of the changes that nobody has summed up yet
-- no more are read than the coordinator sums up in a minute.
SELECT c.status::text AS status, sum(c.jobs)::bigint AS jobs FROM (
    SELECT s.status, s.jobs FROM job_count s
    UNION ALL
    (SELECT n.status, n.jobs FROM job_count_change n LIMIT 100000)
) c GROUP BY c.status;

-- name: LeaseTotals :one
-- How many leases there are, how many of them take a seat, how many have run out, and since when the
-- first of those.
SELECT count(*)::bigint AS leases, (count(*) FILTER (WHERE NOT l.follows))::bigint AS seats,
    (count(*) FILTER (WHERE l.expires_at <= clock_timestamp()))::bigint AS overdue,
    greatest(coalesce(extract(epoch FROM clock_timestamp() - min(l.expires_at)), 0), 0)::float8 AS overdue_seconds
FROM job_lease l;

-- name: FleetTotals :one
-- The agents that nobody has ended, by their health; the factories of which one lives, with their
-- seats, and those of which none does.
WITH a AS MATERIALIZED (
    SELECT x.workspace_id, x.factory_id, agent_health(x.last_heartbeat_at, x.dead_after_seconds, clock_timestamp()) AS health
    FROM agent x WHERE x.terminated_at IS NULL
), f AS MATERIALIZED (
    SELECT a.workspace_id, a.factory_id, bool_or(a.health <> 'dead') AS lives FROM a GROUP BY a.workspace_id, a.factory_id
), h AS (
    SELECT count(*) FILTER (WHERE a.health = 'healthy') AS healthy, count(*) FILTER (WHERE a.health = 'warn') AS warn,
        count(*) FILTER (WHERE a.health = 'stale') AS stale, count(*) FILTER (WHERE a.health = 'dead') AS dead FROM a
), t AS (
    SELECT count(*) FILTER (WHERE f.lives) AS alive, count(*) FILTER (WHERE NOT f.lives) AS gone,
        coalesce(sum(y.seats) FILTER (WHERE f.lives), 0) AS seats
    FROM f LEFT JOIN factory y ON y.workspace_id = f.workspace_id AND y.id = f.factory_id
)
SELECT h.healthy::bigint AS healthy, h.warn::bigint AS warn, h.stale::bigint AS stale, h.dead::bigint AS dead,
    t.alive::bigint AS factories_alive, t.gone::bigint AS factories_dead, t.seats::bigint AS seats FROM h, t;

-- name: BudgetTotals :many
SELECT b.verdict::text AS verdict, count(*)::bigint AS budgets FROM budget b WHERE b.removed_at IS NULL GROUP BY b.verdict;

-- name: LeadershipTotals :one
-- Whether somebody leads, for how many seconds nobody has finished a cycle, and how many servers
-- were seen lately.
SELECT coalesce(l.expires_at > clock_timestamp(), false)::boolean AS active,
    greatest(coalesce(extract(epoch FROM clock_timestamp() - coalesce(l.last_cycle_at, l.acquired_at)), 0), 0)::float8 AS cycle_age_seconds,
    (SELECT count(*) FROM server s WHERE s.seen_at > clock_timestamp() - make_interval(secs => @lately_seconds::float8))::bigint AS servers
FROM (SELECT 1) one LEFT JOIN leadership l ON l.name = 'coordinator';
