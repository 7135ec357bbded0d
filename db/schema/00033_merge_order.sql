-- +goose Up

SELECT add_event_types('job.merge_held');

-- What a merge merges: the approved commit, as it was when the merge was begun, and the way
-- of the product at that time. Claims make the worker's order of it. A commit of '' is none:
-- such a merge is given to nobody.
ALTER TABLE job_merge
    ADD COLUMN commit   text NOT NULL DEFAULT '',
    ADD COLUMN branch   text NOT NULL DEFAULT '',
    ADD COLUMN merge_by text NOT NULL DEFAULT 'worker' CHECK (merge_by IN ('worker', 'pull_request')),
    ADD COLUMN method   text NOT NULL DEFAULT 'merge_commit' CHECK (method IN ('merge_commit', 'fast_forward')),
    ADD COLUMN into_branch text NOT NULL DEFAULT '' CHECK (char_length(into_branch) <= 200),
    ADD COLUMN checks   text NOT NULL DEFAULT '' CHECK (char_length(checks) <= 1000),
    ADD COLUMN url      text NOT NULL DEFAULT '';

-- Merges that were begun before were told in the input of their jobs, which only the server
-- wrote and nobody can change. They stay as they were told, if that is still what is approved.
ALTER TABLE job_merge NO FORCE ROW LEVEL SECURITY;
ALTER TABLE job NO FORCE ROW LEVEL SECURITY;
ALTER TABLE job_text NO FORCE ROW LEVEL SECURITY;
UPDATE job_merge m SET commit = j.approved_head, branch = coalesce(o.said ->> 'branch', ''),
    merge_by = CASE o.said ->> 'by' WHEN 'pull_request' THEN 'pull_request' ELSE 'worker' END,
    method = CASE o.said ->> 'method' WHEN 'fast_forward' THEN 'fast_forward' ELSE 'merge_commit' END,
    into_branch = left(coalesce(o.said ->> 'into', ''), 200), checks = left(coalesce(o.said ->> 'checks', ''), 1000),
    url = coalesce(o.said ->> 'url', '')
FROM job j, job own, (SELECT t.workspace_id, t.job_id, t.input_context -> 'merge' AS said FROM job_text t) o
WHERE m.decided_at IS NULL AND j.workspace_id = m.workspace_id AND j.id = m.job_id
    AND own.workspace_id = m.workspace_id AND own.id = m.merge_job_id AND own.kind = 'merge'
    AND o.workspace_id = m.workspace_id AND o.job_id = m.merge_job_id
    AND j.status = 'approved' AND j.approved_head <> '' AND o.said ->> 'commit' = j.approved_head;
ALTER TABLE job_merge FORCE ROW LEVEL SECURITY;
ALTER TABLE job FORCE ROW LEVEL SECURITY;
ALTER TABLE job_text FORCE ROW LEVEL SECURITY;

-- Approved work whose merge was refused, and how long it is left alone.
CREATE TABLE job_merge_hold (
    workspace_id uuid NOT NULL,
    job_id       uuid NOT NULL,
    tries        integer NOT NULL CHECK (tries > 0),
    until        timestamptz NOT NULL,
    PRIMARY KEY (workspace_id, job_id),
    FOREIGN KEY (workspace_id, job_id) REFERENCES job(workspace_id, id) ON DELETE CASCADE
);
ALTER TABLE job_merge_hold ENABLE ROW LEVEL SECURITY;
ALTER TABLE job_merge_hold FORCE ROW LEVEL SECURITY;
CREATE POLICY workspace ON job_merge_hold TO fleetboard_app
    USING (workspace_id = (SELECT nullif(current_setting('app.workspace_id', true), '')::uuid))
    WITH CHECK (workspace_id = (SELECT nullif(current_setting('app.workspace_id', true), '')::uuid));
GRANT SELECT, INSERT, UPDATE, DELETE ON job_merge_hold TO fleetboard_app;
