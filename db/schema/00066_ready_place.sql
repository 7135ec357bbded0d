-- +goose Up

-- place is where a ready job stands among those as urgent: since when it is ready, until ageing
-- raises its priority; then when it came to that. raised is by how much it was.
ALTER TABLE job_ready
    ADD COLUMN place  timestamptz,
    ADD COLUMN raised smallint NOT NULL DEFAULT 0 CHECK (raised BETWEEN 0 AND 10);
-- Forced policies would hide the rows from an owner that is no superuser.
ALTER TABLE job_ready NO FORCE ROW LEVEL SECURITY;
UPDATE job_ready SET place = ready_at;
ALTER TABLE job_ready FORCE ROW LEVEL SECURITY;
ALTER TABLE job_ready ALTER COLUMN place SET NOT NULL;
DROP INDEX job_ready_claim;
CREATE INDEX job_ready_claim ON job_ready (workspace_id, lane_id, priority DESC, place, job_id);

GRANT SELECT (workspace_id, ageing_minutes) ON dispatch_setting TO fleetboard_system;
CREATE POLICY system ON dispatch_setting FOR SELECT TO fleetboard_system USING (true);
