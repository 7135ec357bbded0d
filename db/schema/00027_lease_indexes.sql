-- +goose Up

-- Of indexes that serve a question alike the newest is taken while a table looks
-- small, and a plan may outlive that: whoever asks for a job's lease would then read
-- all leases of the workspace, also those that ended. These two serve only who asks
-- for an agent or a factory, whose ids are unique in all workspaces.
DROP INDEX job_lease_agent, job_lease_factory;
CREATE INDEX job_lease_agent ON job_lease (agent_id);
CREATE INDEX job_lease_factory ON job_lease (factory_id);
