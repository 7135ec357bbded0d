-- +goose Up

-- Whoever waits for a job is found by it. Without the type in this index the primary key,
-- which has all that is asked for, may be read from end to end instead.
DROP INDEX job_dependency_reverse;
CREATE INDEX job_dependency_reverse ON job_dependency (workspace_id, depends_on_id, job_id, type);
