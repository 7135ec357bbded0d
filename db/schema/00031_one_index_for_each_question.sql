-- +goose Up

-- An attempt is found by its job. With the job in this index too PostgreSQL may take it for
-- that and read it from end to end, where it believes that there are no attempts yet.
DROP INDEX attempt_agent;
CREATE INDEX attempt_agent ON attempt (agent_id, claimed_at);

-- Whoever waits for a job is found by it. Without the type in this index the primary key,
-- which has all that is asked for, may be read from end to end instead.
DROP INDEX job_dependency_reverse;
CREATE INDEX job_dependency_reverse ON job_dependency (workspace_id, depends_on_id, job_id, type);
