-- +goose Up

-- The agent's own name for a line, where it gives one: a line that is sent again
-- under the same lease is kept once.
ALTER TABLE job_log ADD COLUMN line_id text CHECK (char_length(line_id) BETWEEN 1 AND 200);
CREATE UNIQUE INDEX job_log_line ON job_log (workspace_id, job_id, epoch, line_id) WHERE line_id IS NOT NULL;
