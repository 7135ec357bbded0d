-- +goose Up

-- A monitor learns how many jobs, leases, agents, seats and budgets there are in all workspaces
-- together: sums of tables that have a row for each product, agent or budget, and of leases.
CREATE POLICY system ON job_count FOR SELECT TO fleetboard_system USING (true);
GRANT SELECT (status, jobs) ON job_count TO fleetboard_system;
GRANT SELECT (status, jobs) ON job_count_change TO fleetboard_system;
CREATE POLICY system ON factory FOR SELECT TO fleetboard_system USING (true);
GRANT SELECT (workspace_id, id, seats) ON factory TO fleetboard_system;
GRANT SELECT (factory_id) ON agent TO fleetboard_system;
GRANT SELECT (follows) ON job_lease TO fleetboard_system;
GRANT SELECT (verdict) ON budget TO fleetboard_system;
GRANT SELECT (name, acquired_at, last_cycle_at, expires_at) ON leadership TO fleetboard_system;
GRANT SELECT (seen_at) ON server TO fleetboard_system;
