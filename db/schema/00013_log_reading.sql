-- +goose Up

-- Lines of one attempt, and those of a workspace by age: a loop deletes the old
-- ones workspace by workspace.
CREATE INDEX job_log_attempt ON job_log (workspace_id, job_id, epoch, id);
DROP INDEX job_log_age;
CREATE INDEX job_log_age ON job_log (workspace_id, received_at);
