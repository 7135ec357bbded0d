-- +goose Up

-- How many jobs of each product stand in each status, so that nobody counts the
-- jobs. A change of them is a row that is added: a number that all raise would be
-- a lock that all claims wait for. job_count is what was summed up so far,
-- job_count_change what came since; together they are exact in every snapshot.
CREATE TABLE job_count (
    workspace_id uuid NOT NULL REFERENCES workspace ON DELETE CASCADE,
    product_id   uuid NOT NULL,
    status       text NOT NULL,
    jobs         bigint NOT NULL,
    PRIMARY KEY (workspace_id, product_id, status)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500,
    autovacuum_vacuum_cost_delay = 0, vacuum_truncate = false);
CREATE TABLE job_count_change (
    workspace_id uuid NOT NULL,
    id           bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
    product_id   uuid NOT NULL,
    status       text NOT NULL,
    jobs         bigint NOT NULL CHECK (jobs <> 0),
    PRIMARY KEY (workspace_id, id)
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_insert_threshold = -1,
    autovacuum_vacuum_cost_delay = 0, vacuum_truncate = false);

-- An owner that is no superuser sees jobs only while the policies are not forced on it.
ALTER TABLE job NO FORCE ROW LEVEL SECURITY;
INSERT INTO job_count (workspace_id, product_id, status, jobs)
SELECT workspace_id, product_id, status, count(*) FROM job GROUP BY workspace_id, product_id, status;
ALTER TABLE job FORCE ROW LEVEL SECURITY;

-- One call for each statement, however many jobs it writes. It has no search path of
-- its own, which would cost every claim more than it does; its names are whole.
-- +goose StatementBegin
CREATE FUNCTION job_counted() RETURNS trigger LANGUAGE plpgsql AS
$$
BEGIN
    IF TG_OP = 'INSERT' THEN
        INSERT INTO public.job_count_change (workspace_id, product_id, status, jobs)
        SELECT n.workspace_id, n.product_id, n.status, count(*) FROM new_jobs n GROUP BY n.workspace_id, n.product_id, n.status;
    ELSE
        INSERT INTO public.job_count_change (workspace_id, product_id, status, jobs)
        SELECT c.workspace_id, c.product_id, c.status, sum(c.jobs) FROM (
            SELECT o.workspace_id, o.product_id, o.status, -1 AS jobs FROM old_jobs o
            UNION ALL
            SELECT n.workspace_id, n.product_id, n.status, 1 FROM new_jobs n) c
        GROUP BY c.workspace_id, c.product_id, c.status HAVING sum(c.jobs) <> 0;
    END IF;
    RETURN NULL;
END
$$;
-- +goose StatementEnd
CREATE TRIGGER job_made AFTER INSERT ON job REFERENCING NEW TABLE AS new_jobs
    FOR EACH STATEMENT EXECUTE FUNCTION job_counted();
CREATE TRIGGER job_changed AFTER UPDATE ON job REFERENCING OLD TABLE AS old_jobs NEW TABLE AS new_jobs
    FOR EACH STATEMENT EXECUTE FUNCTION job_counted();

-- What stands for a job beside it goes with it. The foreign keys that did so asked
-- for the job, the agent and the factory of every lease, attempt, text and ready
-- row that was written: a quarter of what a claim costs the database. The
-- statements that write these rows write or lock the job, the agent and the
-- factory in the same transaction, so there was nothing to find out; what is left
-- of the promise is kept where rows are taken away, which the application never does.
-- +goose StatementBegin
CREATE FUNCTION job_gone() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS
$$
DECLARE
    before constant text := current_setting('app.workspace_id', true);
    workspace uuid;
BEGIN
    FOR workspace IN SELECT DISTINCT o.workspace_id FROM old_jobs o LOOP
        -- The policies are forced on the owner too.
        PERFORM set_config('app.workspace_id', workspace::text, true);
        DELETE FROM public.job_ready d USING old_jobs o WHERE d.workspace_id = workspace AND o.workspace_id = workspace AND d.job_id = o.id;
        DELETE FROM public.job_lease d USING old_jobs o WHERE d.workspace_id = workspace AND o.workspace_id = workspace AND d.job_id = o.id;
        DELETE FROM public.job_text d USING old_jobs o WHERE d.workspace_id = workspace AND o.workspace_id = workspace AND d.job_id = o.id;
        DELETE FROM public.attempt d USING old_jobs o WHERE d.workspace_id = workspace AND o.workspace_id = workspace AND d.job_id = o.id;
        IF EXISTS (SELECT FROM public.workspace w WHERE w.id = workspace) THEN
            INSERT INTO public.job_count_change (workspace_id, product_id, status, jobs)
            SELECT workspace, o.product_id, o.status, -count(*) FROM old_jobs o
            WHERE o.workspace_id = workspace GROUP BY o.product_id, o.status;
        ELSE
            DELETE FROM public.job_count_change c WHERE c.workspace_id = workspace;
        END IF;
    END LOOP;
    PERFORM set_config('app.workspace_id', coalesce(before, ''), true);
    RETURN NULL;
END
$$;
-- An agent or a factory that has a lease stays, unless its workspace goes with all jobs.
CREATE FUNCTION holder_gone() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS
$$
DECLARE
    before constant text := current_setting('app.workspace_id', true);
    held boolean;
BEGIN
    PERFORM set_config('app.workspace_id', OLD.workspace_id::text, true);
    IF TG_TABLE_NAME = 'agent' THEN
        held := EXISTS (SELECT FROM public.job_lease l JOIN public.job j ON j.workspace_id = l.workspace_id AND j.id = l.job_id
            WHERE l.workspace_id = OLD.workspace_id AND l.agent_id = OLD.id);
    ELSE
        held := EXISTS (SELECT FROM public.job_lease l JOIN public.job j ON j.workspace_id = l.workspace_id AND j.id = l.job_id
            WHERE l.workspace_id = OLD.workspace_id AND l.factory_id = OLD.id);
    END IF;
    PERFORM set_config('app.workspace_id', coalesce(before, ''), true);
    IF held THEN
        RAISE foreign_key_violation USING MESSAGE = 'a lease refers to it', TABLE = TG_TABLE_NAME;
    END IF;
    RETURN NULL;
END
$$;
-- +goose StatementEnd
CREATE TRIGGER job_gone AFTER DELETE ON job REFERENCING OLD TABLE AS old_jobs
    FOR EACH STATEMENT EXECUTE FUNCTION job_gone();
CREATE TRIGGER holder_gone AFTER DELETE ON agent FOR EACH ROW EXECUTE FUNCTION holder_gone();
CREATE TRIGGER holder_gone AFTER DELETE ON factory FOR EACH ROW EXECUTE FUNCTION holder_gone();
ALTER TABLE job_lease
    DROP CONSTRAINT job_lease_workspace_id_job_id_fkey,
    DROP CONSTRAINT job_lease_workspace_id_agent_id_fkey,
    DROP CONSTRAINT job_lease_workspace_id_factory_id_fkey;
ALTER TABLE attempt DROP CONSTRAINT attempt_workspace_id_job_id_fkey;
ALTER TABLE job_text DROP CONSTRAINT job_text_workspace_id_job_id_fkey;
ALTER TABLE job_ready DROP CONSTRAINT job_ready_workspace_id_job_id_fkey;

-- A job that has no phase is nothing to the menu of phases; nor is it written
-- here again with each of its changes.
DROP INDEX job_phase;
CREATE INDEX job_phase ON job (workspace_id, phase) WHERE phase <> '';
-- What waits for other jobs, for the sweeps that look whether it still has to:
-- without it they read every job that ever was.
CREATE INDEX job_waits ON job (workspace_id, id) WHERE status = 'waiting' AND wait_reason = 'dependency';
-- The coordinator's lines of one workspace, and those of the server as a whole.
CREATE INDEX coordinator_log_workspace ON coordinator_log (workspace_id, id);

-- +goose StatementBegin
DO $$
DECLARE
    t text;
BEGIN
    FOREACH t IN ARRAY ARRAY['job_count', 'job_count_change']
    LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', t);
        EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', t);
        EXECUTE format('CREATE POLICY workspace ON %I TO fleetboard_app
            USING (workspace_id = (SELECT nullif(current_setting(''app.workspace_id'', true), '''')::uuid))
            WITH CHECK (workspace_id = (SELECT nullif(current_setting(''app.workspace_id'', true), '''')::uuid))', t);
    END LOOP;
END
$$;
-- +goose StatementEnd
-- A migration that changes jobs of all workspaces is counted as well.
CREATE POLICY counting ON job_count_change FOR INSERT TO CURRENT_USER WITH CHECK (true);
GRANT SELECT, INSERT, UPDATE ON job_count TO fleetboard_app;
GRANT SELECT, INSERT, UPDATE, DELETE ON job_count_change TO fleetboard_app;

-- The loops learn where there is something to sum up, and old lines to delete.
CREATE POLICY system ON job_count_change FOR SELECT TO fleetboard_system USING (true);
GRANT SELECT (workspace_id) ON job_count_change TO fleetboard_system;
CREATE POLICY system ON coordinator_log FOR SELECT TO fleetboard_system USING (true);
GRANT SELECT (workspace_id, at) ON coordinator_log TO fleetboard_system;
