-- +goose Up

-- The loops find leases that are past their estimate: the columns that tell it.
GRANT SELECT (estimated_minutes) ON job TO fleetboard_system;
GRANT SELECT (claimed_at, progress_at, warned_at, directive) ON job_lease TO fleetboard_system;
-- Which workspaces have the few leases that were warned.
CREATE INDEX job_lease_warned ON job_lease (workspace_id, warned_at) WHERE warned_at IS NOT NULL;
