-- +goose Up

-- The words of jobs, messages and logs are cut by the server, by one rule for what is found
-- and what is looked for (ADR 80), and no longer by PostgreSQL's parser. What is stored is cut
-- anew by the loops that write words; until they are through, older rows are not found.
--
-- Of each workspace the rows with words are numbered in eras of some thousand, and workspace
-- and era are a word of the row, behind an @ that no other word has. A search looks at the
-- newest era first and goes back until it has enough: a word that all rows have costs it some
-- thousand of them, whatever there is. Several eras are looked at at once, more with each step
-- back, since each look reads what the index has not sorted in yet.
CREATE FUNCTION words_of_era(workspace uuid, era integer) RETURNS tsvector LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN array_to_tsvector(ARRAY['@' || workspace::text || '/' || era::text]);
GRANT EXECUTE ON FUNCTION words_of_era(workspace uuid, era integer) TO fleetboard_app;
CREATE FUNCTION words_of_eras(workspace uuid, low integer, high integer) RETURNS tsquery
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN (SELECT string_agg(quote_literal('@' || workspace::text || '/' || e::text), ' | ')::tsquery FROM generate_series(low, high) e);

TRUNCATE job_words;
-- The key of the job was looked up for each row, and locked: a third of what a row costs.
ALTER TABLE job_words DROP CONSTRAINT job_words_workspace_id_job_id_fkey;
ALTER TABLE job_words SET (autovacuum_vacuum_insert_scale_factor = 0.02, autovacuum_vacuum_insert_threshold = 5000);
ALTER INDEX job_words_words SET (gin_pending_list_limit = 1024);
ALTER TABLE job_words_place ADD COLUMN era integer NOT NULL DEFAULT 0;
-- How many rows of the era there are.
ALTER TABLE job_words_place ADD COLUMN filled integer NOT NULL DEFAULT 0;
-- Up to which job those are through that were there before their words were cut as they are
-- now; NULL is all.
ALTER TABLE job_words_place ADD COLUMN walked uuid;
UPDATE job_words_place SET walked = '00000000-0000-0000-0000-000000000000';
DROP FUNCTION find_jobs(workspace uuid, wanted tsquery, max_rows integer);
DROP FUNCTION job_words_of(workspace uuid, key text, title text, body text, question text, answer text, error text);

-- The newest jobs of a workspace with these words, at most max_rows. It runs as the tables'
-- owner, whom no policy keeps from using the index of words; so it looks itself that the
-- transaction is of that workspace.
CREATE POLICY search ON job_words_place FOR SELECT TO CURRENT_USER USING (true);
-- +goose StatementBegin
CREATE FUNCTION find_jobs(workspace uuid, wanted tsquery, max_rows integer) RETURNS TABLE (job_id uuid, rank real)
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
    high := (SELECT p.era FROM public.job_words_place p WHERE p.workspace_id = workspace);
    WHILE high >= 0 AND max_rows > 0 LOOP
        RETURN QUERY SELECT s.job_id, ts_rank(s.words, wanted) FROM (
            SELECT w.job_id, w.words FROM public.job_words w
            WHERE w.words @@ (public.words_of_eras(workspace, greatest(high - width + 1, 0), high) && wanted) AND w.workspace_id = workspace
            ORDER BY w.job_id DESC LIMIT max_rows) s;
        GET DIAGNOSTICS n = ROW_COUNT;
        max_rows := max_rows - n;
        high := high - width;
        width := least(width * 4, 64);
    END LOOP;
END
$$;
-- +goose StatementEnd
REVOKE ALL ON FUNCTION find_jobs(workspace uuid, wanted tsquery, max_rows integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION find_jobs(workspace uuid, wanted tsquery, max_rows integer) TO fleetboard_app;

-- The words of messages stand apart from them now and are written as those of jobs are, so that
-- sending writes none.
DROP FUNCTION find_messages(workspace uuid, wanted tsquery, before bigint, max_rows integer);
DROP INDEX message_words;
DROP FUNCTION message_words(workspace uuid, type text, sender text, addressee text, thread text, payload jsonb);
CREATE TABLE message_words (
    workspace_id uuid NOT NULL,
    seq          bigint NOT NULL,
    words        tsvector NOT NULL,
    PRIMARY KEY (workspace_id, seq)
) WITH (autovacuum_vacuum_insert_scale_factor = 0.02, autovacuum_vacuum_insert_threshold = 5000);
CREATE INDEX message_words_words ON message_words USING gin (words) WITH (gin_pending_list_limit = 1024);
-- Up to which message there are words. Without a row there are none.
CREATE TABLE message_words_place (
    workspace_id uuid PRIMARY KEY REFERENCES workspace(id) ON DELETE CASCADE,
    seq          bigint NOT NULL DEFAULT 0,
    era          integer NOT NULL DEFAULT 0,
    filled       integer NOT NULL DEFAULT 0
);
-- +goose StatementBegin
DO $$
DECLARE
    t text;
BEGIN
    FOREACH t IN ARRAY ARRAY['message_words', 'message_words_place']
    LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', t);
        EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', t);
        EXECUTE format('CREATE POLICY workspace ON %I TO fleetboard_app
            USING (workspace_id = (SELECT nullif(current_setting(''app.workspace_id'', true), '''')::uuid))
            WITH CHECK (workspace_id = (SELECT nullif(current_setting(''app.workspace_id'', true), '''')::uuid))', t);
        EXECUTE format('CREATE POLICY search ON %I FOR SELECT TO CURRENT_USER USING (true)', t);
    END LOOP;
END
$$;
-- +goose StatementEnd
GRANT SELECT, INSERT, DELETE ON message_words TO fleetboard_app;
GRANT SELECT, INSERT, UPDATE ON message_words_place TO fleetboard_app;

-- +goose StatementBegin
CREATE FUNCTION find_messages(workspace uuid, wanted tsquery, max_rows integer) RETURNS TABLE (seq bigint, rank real)
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
    high := (SELECT p.era FROM public.message_words_place p WHERE p.workspace_id = workspace);
    WHILE high >= 0 AND max_rows > 0 LOOP
        RETURN QUERY SELECT s.seq, ts_rank(s.words, wanted) FROM (
            SELECT w.seq, w.words FROM public.message_words w
            WHERE w.words @@ (public.words_of_eras(workspace, greatest(high - width + 1, 0), high) && wanted) AND w.workspace_id = workspace
            ORDER BY w.seq DESC LIMIT max_rows) s;
        GET DIAGNOSTICS n = ROW_COUNT;
        max_rows := max_rows - n;
        high := high - width;
        width := least(width * 4, 64);
    END LOOP;
END
$$;
-- +goose StatementEnd
REVOKE ALL ON FUNCTION find_messages(workspace uuid, wanted tsquery, max_rows integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION find_messages(workspace uuid, wanted tsquery, max_rows integer) TO fleetboard_app;

-- Words go with what they are of. The lock of the place lets nobody write words of it beside.
CREATE POLICY gone ON job_words FOR DELETE TO CURRENT_USER USING (true);
CREATE POLICY gone ON job_words_place FOR UPDATE TO CURRENT_USER USING (true);
CREATE POLICY gone ON message_words FOR DELETE TO CURRENT_USER USING (true);
CREATE POLICY gone ON message_words_place FOR UPDATE TO CURRENT_USER USING (true);
-- +goose StatementBegin
CREATE FUNCTION words_of_jobs_gone() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS
$$
BEGIN
    PERFORM FROM public.job_words_place p WHERE p.workspace_id IN (SELECT g.workspace_id FROM gone g) ORDER BY p.workspace_id FOR UPDATE;
    DELETE FROM public.job_words w USING gone g WHERE w.workspace_id = g.workspace_id AND w.job_id = g.id;
    RETURN NULL;
END
$$;
CREATE FUNCTION words_of_messages_gone() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS
$$
BEGIN
    PERFORM FROM public.message_words_place p WHERE p.workspace_id IN (SELECT g.workspace_id FROM gone g) ORDER BY p.workspace_id FOR UPDATE;
    DELETE FROM public.message_words w USING gone g WHERE w.workspace_id = g.workspace_id AND w.seq = g.seq;
    RETURN NULL;
END
$$;
-- +goose StatementEnd
REVOKE ALL ON FUNCTION words_of_jobs_gone(), words_of_messages_gone() FROM PUBLIC;
CREATE TRIGGER words_of_jobs_gone AFTER DELETE ON job REFERENCING OLD TABLE AS gone
    FOR EACH STATEMENT EXECUTE FUNCTION words_of_jobs_gone();
CREATE TRIGGER words_of_messages_gone AFTER DELETE ON message REFERENCING OLD TABLE AS gone
    FOR EACH STATEMENT EXECUTE FUNCTION words_of_messages_gone();
