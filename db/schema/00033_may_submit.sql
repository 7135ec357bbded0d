-- +goose Up

-- Whether the agents that register with the token may create jobs.
ALTER TABLE access_token ADD COLUMN may_submit boolean NOT NULL DEFAULT false
    CHECK (NOT may_submit OR kind = 'enrolment');
-- How many jobs an agent created while it worked on this one.
ALTER TABLE attempt ADD COLUMN submitted smallint NOT NULL DEFAULT 0 CHECK (submitted >= 0);
