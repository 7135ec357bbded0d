-- +goose Up

-- Where a person wants a job among those of its product that are as urgent: place and tie_break as
-- job_ready has them. Kept while the job is not ready.
CREATE TABLE job_rank (
    workspace_id uuid NOT NULL,
    job_id       uuid NOT NULL,
    place        timestamptz NOT NULL,
    rank         bytea NOT NULL CHECK (octet_length(rank) BETWEEN 17 AND 1000),
    PRIMARY KEY (workspace_id, job_id),
    FOREIGN KEY (workspace_id, job_id) REFERENCES job (workspace_id, id) ON DELETE CASCADE
);
CREATE INDEX job_rank_place ON job_rank (workspace_id, place, rank);
ALTER TABLE job_rank ENABLE ROW LEVEL SECURITY;
ALTER TABLE job_rank FORCE ROW LEVEL SECURITY;
CREATE POLICY workspace ON job_rank TO fleetboard_app
    USING (workspace_id = (SELECT nullif(current_setting('app.workspace_id', true), '')::uuid))
    WITH CHECK (workspace_id = (SELECT nullif(current_setting('app.workspace_id', true), '')::uuid));
GRANT SELECT, INSERT, UPDATE, DELETE ON job_rank TO fleetboard_app;

-- tie_break orders the ready jobs of one place: by their ids, where no person has ranked them.
ALTER TABLE job_ready
    ADD COLUMN rank      bytea,
    ADD COLUMN tie_break bytea NOT NULL GENERATED ALWAYS AS (coalesce(rank, uuid_send(job_id))) STORED,
    ADD COLUMN level     smallint NOT NULL GENERATED ALWAYS AS ((10 - priority)::smallint) STORED;
DROP INDEX job_ready_claim;
CREATE INDEX job_ready_claim ON job_ready (workspace_id, lane_id, priority DESC, place, tie_break);
-- The oldest of what people have ranked, which may stand anywhere.
CREATE INDEX job_ready_ranked ON job_ready (workspace_id, ready_at) WHERE rank IS NOT NULL;
-- All that is ready in the order of claims, for those who look at it. It is by level, so that no claim,
-- which goes by priority, is planned along it, past the jobs of other lanes; and by a column, as policies
-- keep an expression from being looked up.
CREATE INDEX job_ready_order ON job_ready (workspace_id, level, place, tie_break);

SELECT add_event_types('job.ranked');
