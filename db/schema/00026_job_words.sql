-- +goose Up

-- The words that a job is found by, its workspace among them, so that a search meets no
-- word of another workspace.
CREATE FUNCTION job_words_of(workspace uuid, key text, title text, body text, question text, answer text, error text) RETURNS tsvector
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN array_to_tsvector(ARRAY[workspace::text])
        || setweight(to_tsvector('simple', key || ' ' || title), 'A')
        || setweight(to_tsvector('simple', left(question || ' ' || answer || ' ' || error, 40000)), 'B')
        || setweight(to_tsvector('simple', left(body, 100000)), 'C');
GRANT EXECUTE ON FUNCTION job_words_of(workspace uuid, key text, title text, body text, question text, answer text, error text)
    TO fleetboard_app;

-- The words of jobs stand apart from them: a job is written with each change of its status,
-- its words seldom.
CREATE TABLE job_words (
    workspace_id uuid NOT NULL,
    job_id       uuid NOT NULL,
    words        tsvector NOT NULL,
    PRIMARY KEY (workspace_id, job_id),
    FOREIGN KEY (workspace_id, job_id) REFERENCES job(workspace_id, id) ON DELETE CASCADE
);
CREATE INDEX job_words_words ON job_words USING gin (words);

ALTER TABLE job NO FORCE ROW LEVEL SECURITY;
ALTER TABLE job_text NO FORCE ROW LEVEL SECURITY;
INSERT INTO job_words (workspace_id, job_id, words)
SELECT j.workspace_id, j.id, job_words_of(j.workspace_id, j.key, j.title, coalesce(t.body, ''), j.question, j.answer, j.last_error)
FROM job j LEFT JOIN job_text t ON t.workspace_id = j.workspace_id AND t.job_id = j.id;
ALTER TABLE job FORCE ROW LEVEL SECURITY;
ALTER TABLE job_text FORCE ROW LEVEL SECURITY;

ALTER TABLE job_words ENABLE ROW LEVEL SECURITY;
ALTER TABLE job_words FORCE ROW LEVEL SECURITY;
CREATE POLICY workspace ON job_words TO fleetboard_app
    USING (workspace_id = (SELECT nullif(current_setting('app.workspace_id', true), '')::uuid))
    WITH CHECK (workspace_id = (SELECT nullif(current_setting('app.workspace_id', true), '')::uuid));
GRANT SELECT, INSERT, UPDATE, DELETE ON job_words TO fleetboard_app;

-- +goose StatementBegin
CREATE FUNCTION job_text_added() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO job_words (workspace_id, job_id, words)
    SELECT a.workspace_id, a.job_id, (SELECT job_words_of(j.workspace_id, j.key, j.title, a.body, j.question, j.answer, j.last_error)
        FROM job j WHERE j.workspace_id = a.workspace_id AND j.id = a.job_id)
    FROM added a
    ON CONFLICT (workspace_id, job_id) DO UPDATE SET words = excluded.words;
    RETURN NULL;
END
$$;
-- +goose StatementEnd
CREATE TRIGGER job_text_added AFTER INSERT ON job_text REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION job_text_added();

-- +goose StatementBegin
CREATE FUNCTION job_text_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE job_words w SET words = (SELECT job_words_of(j.workspace_id, j.key, j.title, NEW.body, j.question, j.answer, j.last_error)
        FROM job j WHERE j.workspace_id = NEW.workspace_id AND j.id = NEW.job_id)
    WHERE w.workspace_id = NEW.workspace_id AND w.job_id = NEW.job_id;
    RETURN NULL;
END
$$;
-- +goose StatementEnd
CREATE TRIGGER job_text_changed AFTER UPDATE OF body ON job_text
    FOR EACH ROW WHEN (OLD.body IS DISTINCT FROM NEW.body) EXECUTE FUNCTION job_text_changed();

-- +goose StatementBegin
CREATE FUNCTION job_said_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE job_words w SET words = job_words_of(NEW.workspace_id, NEW.key, NEW.title, coalesce((SELECT t.body FROM job_text t
        WHERE t.workspace_id = NEW.workspace_id AND t.job_id = NEW.id), ''), NEW.question, NEW.answer, NEW.last_error)
    WHERE w.workspace_id = NEW.workspace_id AND w.job_id = NEW.id;
    RETURN NULL;
END
$$;
-- +goose StatementEnd
CREATE TRIGGER job_said_changed AFTER UPDATE OF title, question, answer, last_error ON job
    FOR EACH ROW WHEN (OLD.title IS DISTINCT FROM NEW.title OR OLD.question IS DISTINCT FROM NEW.question
        OR OLD.answer IS DISTINCT FROM NEW.answer OR OLD.last_error IS DISTINCT FROM NEW.last_error) EXECUTE FUNCTION job_said_changed();

-- The newest jobs of a workspace with these words, at most max_rows. It runs as the tables'
-- owner, whom no policy keeps from using the index of words; so it looks itself that the
-- transaction is of that workspace.
CREATE POLICY search ON job_words FOR SELECT TO CURRENT_USER USING (true);
-- +goose StatementBegin
CREATE FUNCTION find_jobs(workspace uuid, wanted tsquery, max_rows integer) RETURNS TABLE (job_id uuid, rank real)
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS
$$
BEGIN
    IF workspace IS DISTINCT FROM nullif(current_setting('app.workspace_id', true), '')::uuid THEN
        RAISE insufficient_privilege USING MESSAGE = 'this transaction is of another workspace';
    END IF;
    RETURN QUERY SELECT w.job_id, ts_rank(w.words, wanted) FROM public.job_words w
        WHERE w.workspace_id = workspace AND w.words @@ (quote_literal(workspace::text)::tsquery && wanted)
        ORDER BY w.job_id DESC LIMIT max_rows;
END
$$;
-- +goose StatementEnd
REVOKE ALL ON FUNCTION find_jobs(workspace uuid, wanted tsquery, max_rows integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION find_jobs(workspace uuid, wanted tsquery, max_rows integer) TO fleetboard_app;
