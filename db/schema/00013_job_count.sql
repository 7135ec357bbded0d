-- +goose Up

-- How many jobs of each product stand in each status, so that nobody counts the
-- jobs. A change of them is a row that is added: a number that all raise would be
-- a lock that all claims wait for. job_count is what was summed up so far,
-- job_count_change what came since; together they are exact in every snapshot.
CREATE TABLE job_count (
    workspace_id uuid NOT NULL,
    product_id   uuid NOT NULL,
    status       text NOT NULL,
    jobs         bigint NOT NULL,
    PRIMARY KEY (workspace_id, product_id, status),
    FOREIGN KEY (workspace_id) REFERENCES workspace(id) ON DELETE CASCADE
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500,
    autovacuum_vacuum_cost_delay = 0, vacuum_truncate = false);

CREATE TABLE job_count_change (
    workspace_id uuid NOT NULL,
    id           bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
    product_id   uuid NOT NULL,
    status       text NOT NULL,
    jobs         bigint NOT NULL CHECK (jobs <> 0),
    PRIMARY KEY (workspace_id, id)
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000,
    autovacuum_vacuum_insert_threshold = -1, autovacuum_vacuum_cost_delay = 0, vacuum_truncate = false);

-- Each shows and takes only rows of the transaction's workspace. Outside a transaction
-- the setting is the empty string, hence nullif; the sub-select makes it evaluated
-- once, not per row.
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

GRANT SELECT, INSERT, UPDATE ON job_count TO fleetboard_app;
-- A migration that changes jobs of all workspaces is counted as well.
CREATE POLICY counting ON job_count_change FOR INSERT TO CURRENT_USER
    WITH CHECK (true);
-- The loops learn where there is something to sum up, and old lines to delete.
CREATE POLICY system ON job_count_change FOR SELECT TO fleetboard_system
    USING (true);
GRANT SELECT, INSERT, DELETE, UPDATE ON job_count_change TO fleetboard_app;
GRANT SELECT (workspace_id) ON job_count_change TO fleetboard_system;

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
-- +goose StatementEnd

CREATE TRIGGER job_changed AFTER UPDATE ON job REFERENCING OLD TABLE AS old_jobs NEW TABLE AS new_jobs
    FOR EACH STATEMENT EXECUTE FUNCTION job_counted();
CREATE TRIGGER job_gone AFTER DELETE ON job REFERENCING OLD TABLE AS old_jobs FOR EACH STATEMENT EXECUTE FUNCTION job_gone();
CREATE TRIGGER job_made AFTER INSERT ON job REFERENCING NEW TABLE AS new_jobs
    FOR EACH STATEMENT EXECUTE FUNCTION job_counted();
