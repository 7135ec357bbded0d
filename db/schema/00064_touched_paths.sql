-- +goose Up

SELECT add_event_types('job.collided', 'job.collision_ended');

-- Its agent has said which files it touches, so that there may be rows of touched_path for it.
ALTER TABLE job_lease ADD COLUMN touches boolean NOT NULL DEFAULT false;

-- The files that jobs touch while they are worked on, as their agents say. Whoever writes rows of a
-- repo, or ends a lease that has some, holds the advisory lock of the repo until it commits.
CREATE TABLE touched_path (
    workspace_id uuid NOT NULL,
    job_id       uuid NOT NULL,
    epoch        bigint NOT NULL,
    repo         text NOT NULL,
    path         text NOT NULL CHECK (octet_length(path) BETWEEN 1 AND 1024),
    PRIMARY KEY (workspace_id, job_id, path),
    FOREIGN KEY (workspace_id, job_id) REFERENCES job(workspace_id, id) ON DELETE CASCADE
);
CREATE INDEX touched_path_repo ON touched_path (workspace_id, repo, path);
ALTER TABLE touched_path ENABLE ROW LEVEL SECURITY;
ALTER TABLE touched_path FORCE ROW LEVEL SECURITY;
CREATE POLICY workspace ON touched_path TO fleetboard_app
    USING (workspace_id = (SELECT nullif(current_setting('app.workspace_id', true), '')::uuid))
    WITH CHECK (workspace_id = (SELECT nullif(current_setting('app.workspace_id', true), '')::uuid));
GRANT SELECT, INSERT, DELETE ON touched_path TO fleetboard_app;

-- What two jobs that are worked on have both touched: a row for each of the two, with some of the
-- paths. The epochs are those of the leases under which that is so.
CREATE TABLE job_collision (
    workspace_id uuid NOT NULL,
    job_id       uuid NOT NULL,
    epoch        bigint NOT NULL,
    other_id     uuid NOT NULL,
    other_epoch  bigint NOT NULL,
    paths        text[] NOT NULL CHECK (cardinality(paths) <= 50),
    path_count   integer NOT NULL,
    since        timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (workspace_id, job_id, other_id),
    FOREIGN KEY (workspace_id, job_id) REFERENCES job(workspace_id, id) ON DELETE CASCADE,
    FOREIGN KEY (workspace_id, other_id) REFERENCES job(workspace_id, id) ON DELETE CASCADE
);
CREATE INDEX job_collision_other ON job_collision (workspace_id, other_id);
ALTER TABLE job_collision ENABLE ROW LEVEL SECURITY;
ALTER TABLE job_collision FORCE ROW LEVEL SECURITY;
CREATE POLICY workspace ON job_collision TO fleetboard_app
    USING (workspace_id = (SELECT nullif(current_setting('app.workspace_id', true), '')::uuid))
    WITH CHECK (workspace_id = (SELECT nullif(current_setting('app.workspace_id', true), '')::uuid));
GRANT SELECT, INSERT, UPDATE, DELETE ON job_collision TO fleetboard_app;
