-- +goose Up

-- Attempts name their agent by id too, and are found by it. No index of theirs begins
-- with the workspace: one that does is taken for any other by plans that were made
-- before the first attempt, and reads all of them for each end of a lease.
DROP INDEX attempt_agent;
ALTER TABLE attempt ADD COLUMN agent_id uuid;
ALTER TABLE attempt NO FORCE ROW LEVEL SECURITY;
ALTER TABLE agent NO FORCE ROW LEVEL SECURITY;
UPDATE attempt a SET agent_id = g.id FROM agent g WHERE g.workspace_id = a.workspace_id AND g.name = a.agent;
ALTER TABLE attempt FORCE ROW LEVEL SECURITY;
ALTER TABLE agent FORCE ROW LEVEL SECURITY;
CREATE INDEX attempt_agent ON attempt (agent_id, claimed_at, job_id, epoch);
ALTER TABLE job_usage DROP CONSTRAINT job_usage_workspace_id_job_id_epoch_fkey;
ALTER TABLE attempt DROP CONSTRAINT attempt_pkey, ADD PRIMARY KEY (job_id, epoch, workspace_id);
ALTER TABLE job_usage ADD FOREIGN KEY (workspace_id, job_id, epoch) REFERENCES attempt (workspace_id, job_id, epoch) ON DELETE CASCADE;
