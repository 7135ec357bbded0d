-- +goose Up

-- The words of a log are kept by blocks of some 32 KB of it, so that a search finds the place
-- in the log by the index and reads one block of lines for each hit. What was written before
-- has the words of a whole log, in one row without an era; it goes with its lines, within 30
-- days.
ALTER TABLE job_log_words ADD COLUMN first_id bigint NOT NULL DEFAULT 0;
ALTER TABLE job_log_words ADD COLUMN last_id bigint NOT NULL DEFAULT 9223372036854775807;
ALTER TABLE job_log_words ALTER COLUMN first_id DROP DEFAULT, ALTER COLUMN last_id DROP DEFAULT;
ALTER TABLE job_log_words DROP CONSTRAINT job_log_words_pkey;
ALTER TABLE job_log_words ADD PRIMARY KEY (workspace_id, job_id, epoch, first_id);
ALTER INDEX job_log_words_words SET (gin_pending_list_limit = 1024);
ALTER TABLE job_log_words_place ADD COLUMN era integer NOT NULL DEFAULT 0;
ALTER TABLE job_log_words_place ADD COLUMN filled integer NOT NULL DEFAULT 0;

-- The newest blocks of logs of a workspace with these words, of each job one, about max_rows
-- of them. It runs as the tables' owner, whom no policy keeps from using the index of words; so
-- it looks itself that the transaction is of that workspace. Without the index it would unpack
-- the words of every block, which the planner takes for cheap; hence no sequential scan, and
-- the condition on the workspace beside the index.
DROP FUNCTION find_job_logs(workspace uuid, wanted tsquery, max_rows integer);
CREATE POLICY search ON job_log_words_place FOR SELECT TO CURRENT_USER USING (true);
-- +goose StatementBegin
CREATE FUNCTION find_job_logs(workspace uuid, wanted tsquery, max_rows integer)
    RETURNS TABLE (job_id uuid, epoch bigint, first_id bigint, last_id bigint)
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS
$$
DECLARE
    high  integer;
    width integer := 1;
    n     integer;
BEGIN
    IF workspace IS DISTINCT FROM nullif(current_setting('app.workspace_id', true), '')::uuid THEN
        RAISE insufficient_privilege USING MESSAGE = 'this transaction is of another workspace';
    END IF;
    high := coalesce((SELECT p.era FROM public.job_log_words_place p WHERE p.workspace_id = workspace), -1);
    WHILE high >= -1 AND max_rows > 0 LOOP
        RETURN QUERY WITH found AS MATERIALIZED (
            SELECT w.workspace_id, w.job_id, w.epoch, w.first_id, w.last_id FROM public.job_log_words w
            WHERE w.words @@ (CASE WHEN high < 0 THEN quote_literal('@' || workspace::text)::tsquery
                ELSE public.words_of_eras(workspace, greatest(high - width + 1, 0), high) END && wanted)
        ), newest AS (
            SELECT DISTINCT ON (f.job_id) f.job_id, f.epoch, f.first_id, f.last_id FROM found f WHERE f.workspace_id = workspace
            ORDER BY f.job_id DESC, f.epoch DESC, f.first_id DESC LIMIT max_rows
        ) SELECT * FROM newest;
        GET DIAGNOSTICS n = ROW_COUNT;
        max_rows := max_rows - n;
        EXIT WHEN high < 0;
        high := greatest(high - width, -1);
        width := least(width * 4, 64);
    END LOOP;
END
$$;
-- +goose StatementEnd
REVOKE ALL ON FUNCTION find_job_logs(workspace uuid, wanted tsquery, max_rows integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION find_job_logs(workspace uuid, wanted tsquery, max_rows integer) TO fleetboard_app;
