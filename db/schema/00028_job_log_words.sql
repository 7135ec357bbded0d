-- +goose Up

-- The words of what an attempt wrote to its job's log, once it has ended: of the log's
-- beginning and end, without their places in it. The workspace is one of the words, behind an
-- @ that no other word has, so that a search meets no word of another workspace.
CREATE TABLE job_log_words (
    workspace_id uuid NOT NULL,
    job_id       uuid NOT NULL,
    epoch        bigint NOT NULL,
    words        tsvector NOT NULL,
    -- When the attempt's last line came: words go when it does.
    last_at      timestamptz NOT NULL,
    PRIMARY KEY (workspace_id, job_id, epoch),
    FOREIGN KEY (workspace_id, job_id) REFERENCES job(workspace_id, id) ON DELETE CASCADE
) WITH (autovacuum_vacuum_insert_scale_factor = 0.02, autovacuum_vacuum_insert_threshold = 5000);
CREATE INDEX job_log_words_words ON job_log_words USING gin (words);
CREATE INDEX job_log_words_age ON job_log_words (workspace_id, last_at);

-- How far the log of events was looked at for attempts that have ended.
CREATE TABLE job_log_words_place (
    workspace_id uuid PRIMARY KEY REFERENCES workspace(id) ON DELETE CASCADE,
    place        text NOT NULL
);

-- +goose StatementBegin
DO $$
DECLARE
    t text;
BEGIN
    FOREACH t IN ARRAY ARRAY['job_log_words', 'job_log_words_place']
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
GRANT SELECT, INSERT, DELETE ON job_log_words TO fleetboard_app;
GRANT SELECT, INSERT, UPDATE ON job_log_words_place TO fleetboard_app;

-- The newest jobs of a workspace with an attempt whose log has these words, each with its last
-- such attempt, at most max_rows. It runs as the table's owner, whom no policy keeps from using
-- the index of words; so it looks itself that the transaction is of that workspace. Without the
-- index it would unpack the words of every attempt, which the planner takes for cheap; hence
-- no sequential scan, and the condition on the workspace beside the index.
CREATE POLICY search ON job_log_words FOR SELECT TO CURRENT_USER USING (true);
-- +goose StatementBegin
CREATE FUNCTION find_job_logs(workspace uuid, wanted tsquery, max_rows integer) RETURNS TABLE (job_id uuid, epoch bigint)
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS
$$
BEGIN
    IF workspace IS DISTINCT FROM nullif(current_setting('app.workspace_id', true), '')::uuid THEN
        RAISE insufficient_privilege USING MESSAGE = 'this transaction is of another workspace';
    END IF;
    RETURN QUERY WITH found AS MATERIALIZED (
        SELECT w.workspace_id, w.job_id, w.epoch FROM public.job_log_words w
        WHERE w.words @@ (quote_literal('@' || workspace::text)::tsquery && wanted)
    )
    SELECT f.job_id, max(f.epoch) FROM found f WHERE f.workspace_id = workspace
    GROUP BY f.job_id ORDER BY f.job_id DESC LIMIT max_rows;
END
$$;
-- +goose StatementEnd
REVOKE ALL ON FUNCTION find_job_logs(workspace uuid, wanted tsquery, max_rows integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION find_job_logs(workspace uuid, wanted tsquery, max_rows integer) TO fleetboard_app;
