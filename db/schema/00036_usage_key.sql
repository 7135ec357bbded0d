-- +goose Up

-- An entry is a message of one job: its id names it there. A later attempt of the job may
-- raise it, and another job's telling of the same id is an entry of its own.
ALTER TABLE usage_entry DROP CONSTRAINT usage_entry_pkey;
ALTER TABLE usage_entry ADD PRIMARY KEY (workspace_id, job_id, id);
DROP INDEX usage_entry_booked;
CREATE INDEX usage_entry_booked ON usage_entry (workspace_id, booked_at, id, job_id);
DROP INDEX usage_entry_unpriced;
CREATE INDEX usage_entry_unpriced ON usage_entry (workspace_id, booked_at, id, job_id) WHERE price_id IS NULL AND reported_nanos IS NULL;
ALTER TABLE usage_pricing ADD COLUMN after_job uuid NOT NULL DEFAULT '00000000-0000-0000-0000-000000000000';
