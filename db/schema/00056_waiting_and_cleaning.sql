-- +goose Up

SELECT add_event_types('job.pull_request_opened');

-- A lease whose agent follows a pull request takes no seat. Few leases do, and claims count
-- them by indexes that have these alone.
ALTER TABLE job_lease ADD COLUMN follows boolean NOT NULL DEFAULT false;
CREATE INDEX job_lease_follows_agent ON job_lease (agent_id) WHERE follows;
CREATE INDEX job_lease_follows_factory ON job_lease (factory_id) WHERE follows;

-- The pull request by which a merge has work merged, as its agent told it: the next merge of
-- the same work goes on with it.
ALTER TABLE job_merge
    ADD COLUMN pull_url    text NOT NULL DEFAULT '' CHECK (char_length(pull_url) <= 2000),
    ADD COLUMN pull_number integer NOT NULL DEFAULT 0 CHECK (pull_number >= 0),
    ADD COLUMN pull_branch text NOT NULL DEFAULT '' CHECK (char_length(pull_branch) <= 255);

-- How many days after a job has ended its branches stay at the origin; 0 is for ever.
ALTER TABLE product ADD COLUMN branch_retention_days integer NOT NULL DEFAULT 30
    CHECK (branch_retention_days BETWEEN 0 AND 3650);
