-- +goose Up

-- How approved work of a product is merged: by a person, or by whichever factory has the
-- repo; into which branch ("" is the repository's default one), and by which command it
-- is checked afterwards ("" by none).
ALTER TABLE product
    ADD COLUMN merge_by     text NOT NULL DEFAULT 'person' CHECK (merge_by IN ('person', 'worker')),
    ADD COLUMN merge_method text NOT NULL DEFAULT 'merge_commit' CHECK (merge_method IN ('merge_commit', 'fast_forward')),
    ADD COLUMN merge_into   text NOT NULL DEFAULT '' CHECK (char_length(merge_into) <= 200),
    ADD COLUMN merge_checks text NOT NULL DEFAULT '' CHECK (char_length(merge_checks) <= 1000);
CREATE POLICY system ON product FOR SELECT TO fleetboard_system USING (merge_by <> 'person');
GRANT SELECT (workspace_id, merge_by) ON product TO fleetboard_system;

-- The jobs that merge the work of others: one at a time for each of them, which is open
-- until what came of it is decided.
CREATE TABLE job_merge (
    workspace_id uuid NOT NULL,
    merge_job_id uuid NOT NULL,
    job_id       uuid NOT NULL,
    created_at   timestamptz NOT NULL DEFAULT now(),
    decided_at   timestamptz,
    PRIMARY KEY (workspace_id, merge_job_id),
    FOREIGN KEY (workspace_id, merge_job_id) REFERENCES job(workspace_id, id) ON DELETE CASCADE,
    FOREIGN KEY (workspace_id, job_id) REFERENCES job(workspace_id, id) ON DELETE CASCADE
);
CREATE UNIQUE INDEX job_merge_open ON job_merge (workspace_id, job_id) WHERE decided_at IS NULL;
CREATE INDEX job_merge_job ON job_merge (workspace_id, job_id);

ALTER TABLE job_merge ENABLE ROW LEVEL SECURITY;
ALTER TABLE job_merge FORCE ROW LEVEL SECURITY;
CREATE POLICY workspace ON job_merge TO fleetboard_app
    USING (workspace_id = (SELECT nullif(current_setting('app.workspace_id', true), '')::uuid))
    WITH CHECK (workspace_id = (SELECT nullif(current_setting('app.workspace_id', true), '')::uuid));
CREATE POLICY system ON job_merge FOR SELECT TO fleetboard_system USING (decided_at IS NULL);
GRANT SELECT, INSERT, UPDATE ON job_merge TO fleetboard_app;
GRANT SELECT (workspace_id, decided_at) ON job_merge TO fleetboard_system;
