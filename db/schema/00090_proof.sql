-- +goose Up

-- A command that a worker runs in the commit that it hands in. What it writes is shown beside the acceptance
-- criteria.
ALTER TABLE product ADD COLUMN proof_command text NOT NULL DEFAULT '' CHECK (char_length(proof_command) <= 1000);

-- When an agent put a content last: a proof is one that it has put since it claimed the job.
ALTER TABLE blob_putter ADD COLUMN put_at timestamptz NOT NULL DEFAULT now();
GRANT UPDATE (put_at) ON blob_putter TO fleetboard_app;
