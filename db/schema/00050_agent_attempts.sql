-- +goose Up

-- The attempts of an agent, the newest first. What changes of an attempt is not in
-- the index, so that its end still is a change within its page.
CREATE INDEX attempt_agent ON attempt (workspace_id, agent, claimed_at, job_id, epoch);
