-- +goose Up

SELECT add_event_types('job.preempt_asked', 'job.preempt_withdrawn', 'job.preempted');

-- When its agent last saved a checkpoint, by its lease.
ALTER TABLE job_lease ADD COLUMN checkpoint_at timestamptz;

-- The last request to the agent of a running job, the victim, to give its seat to a ready one that is
-- more urgent.
CREATE TABLE preemption (
    workspace_id uuid NOT NULL,
    victim_id    uuid NOT NULL,
    -- Of the lease that the request is about.
    victim_epoch bigint NOT NULL,
    -- The job for which it is made.
    job_id       uuid NOT NULL,
    -- asked: it stands. given: the job was given back. expired: nobody answered. kept: a person, a budget
    -- or a stop has decided otherwise. withdrawn: the seat is not needed any more. ended: the lease ended
    -- in another way.
    state        text NOT NULL CHECK (state IN ('asked', 'given', 'expired', 'kept', 'withdrawn', 'ended')),
    asked_at     timestamptz NOT NULL DEFAULT clock_timestamp(),
    expires_at   timestamptz NOT NULL,
    -- How far the victim was then, and once it was given back, how far it was at that; -1 for unknown.
    percent      smallint NOT NULL,
    PRIMARY KEY (workspace_id, victim_id),
    FOREIGN KEY (workspace_id, victim_id) REFERENCES job(workspace_id, id) ON DELETE CASCADE,
    FOREIGN KEY (workspace_id, job_id) REFERENCES job(workspace_id, id) ON DELETE CASCADE
);
-- A job has one victim at a time.
CREATE UNIQUE INDEX preemption_asked ON preemption (workspace_id, job_id) WHERE state = 'asked';
CREATE INDEX preemption_job ON preemption (workspace_id, job_id);
ALTER TABLE preemption ENABLE ROW LEVEL SECURITY;
ALTER TABLE preemption FORCE ROW LEVEL SECURITY;
CREATE POLICY workspace ON preemption TO fleetboard_app
    USING (workspace_id = (SELECT nullif(current_setting('app.workspace_id', true), '')::uuid))
    WITH CHECK (workspace_id = (SELECT nullif(current_setting('app.workspace_id', true), '')::uuid));
GRANT SELECT, INSERT, UPDATE, DELETE ON preemption TO fleetboard_app;
CREATE POLICY system ON preemption FOR SELECT TO fleetboard_system USING (true);
GRANT SELECT (workspace_id) ON preemption TO fleetboard_system;
GRANT SELECT (preempt_gap) ON dispatch_setting TO fleetboard_system;
