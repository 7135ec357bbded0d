-- +goose Up

-- Nothing that commits later can belong to a transaction below this one: what readers of
-- a log in commit order may see ends here (ADR 3).
CREATE FUNCTION log_horizon() RETURNS xid8 LANGUAGE sql STABLE PARALLEL SAFE
    RETURN pg_snapshot_xmin(pg_current_snapshot());
GRANT EXECUTE ON FUNCTION log_horizon() TO fleetboard_app;

-- What roles the agents of an enrolment token may have, and which they have. Messages
-- are addressed to roles.
ALTER TABLE access_token ADD COLUMN roles text[] NOT NULL DEFAULT '{worker}';
ALTER TABLE agent ADD COLUMN roles text[] NOT NULL DEFAULT '{worker}';

-- The words that a message is found by. Its workspace is one of them, so that a search
-- meets no word of another workspace.
CREATE FUNCTION message_words(workspace uuid, type text, sender text, addressee text, thread text, payload jsonb) RETURNS tsvector
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN array_to_tsvector(ARRAY[workspace::text])
        || setweight(to_tsvector('simple', type || ' ' || sender || ' ' || addressee || ' ' || thread), 'B')
        || setweight(jsonb_to_tsvector('simple', coalesce(payload, 'null'), '["string", "numeric"]'), 'A');
GRANT EXECUTE ON FUNCTION message_words(workspace uuid, type text, sender text, addressee text, thread text, payload jsonb)
    TO fleetboard_app;

-- What agents, people and the server say to one another. seq is the transaction's id,
-- shifted by ten bits, and the message's number within it: it grows in the order in which
-- transactions began, and readers see it up to the horizon of the log.
CREATE TABLE message (
    workspace_id   uuid NOT NULL,
    seq            bigint NOT NULL,
    id             uuid NOT NULL,
    type           text NOT NULL CHECK (char_length(type) BETWEEN 1 AND 64),
    from_kind      text NOT NULL CHECK (from_kind IN ('agent', 'person', 'system')),
    from_id        uuid,
    from_name      text NOT NULL,
    to_kind        text NOT NULL CHECK (to_kind IN ('agent', 'role', 'factory', 'person', 'all')),
    to_id          uuid,
    to_name        text NOT NULL,
    correlation_id text NOT NULL CHECK (char_length(correlation_id) BETWEEN 1 AND 128),
    in_reply_to    uuid,
    job_id         uuid,
    product_id     uuid,
    payload        jsonb,
    -- The SHA-256 of a payload that is kept as a blob.
    blob           bytea CHECK (octet_length(blob) = 32),
    -- The SHA-256 of all that its sender said: tells a repeat from another message.
    digest         bytea NOT NULL CHECK (octet_length(digest) = 32),
    at             timestamptz NOT NULL DEFAULT clock_timestamp(),
    expires_at     timestamptz,
    PRIMARY KEY (workspace_id, seq),
    CONSTRAINT message_id_key UNIQUE (workspace_id, id),
    FOREIGN KEY (workspace_id, job_id) REFERENCES job(workspace_id, id) ON DELETE CASCADE,
    CHECK (payload IS NULL OR blob IS NULL)
);
CREATE INDEX message_thread ON message (workspace_id, correlation_id, seq);
CREATE INDEX message_job ON message (workspace_id, job_id, seq) WHERE job_id IS NOT NULL;
CREATE INDEX message_words ON message USING gin (message_words(workspace_id, type, from_name, to_name, correlation_id, payload));

-- What an inbox has not acknowledged. inbox is 'agent:<id>', 'person:<id>', or one that
-- several share: 'factory:<id>', 'role:<name>'; of those the reader has it until
-- taken_until, and then another may.
CREATE TABLE message_delivery (
    workspace_id uuid NOT NULL,
    inbox        text NOT NULL,
    seq          bigint NOT NULL,
    product_id   uuid,
    deliveries   integer NOT NULL DEFAULT 0,
    reader_id    uuid,
    taken_until  timestamptz,
    not_before   timestamptz,
    expires_at   timestamptz,
    error        text NOT NULL DEFAULT '' CHECK (char_length(error) <= 1000),
    -- Dead letters were delivered five times and never acknowledged.
    dead_at      timestamptz,
    PRIMARY KEY (workspace_id, inbox, seq),
    FOREIGN KEY (workspace_id, seq) REFERENCES message(workspace_id, seq) ON DELETE CASCADE
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000,
    autovacuum_vacuum_cost_delay = 0);
CREATE INDEX message_delivery_seq ON message_delivery (workspace_id, seq);
CREATE INDEX message_delivery_dead ON message_delivery (workspace_id, seq) WHERE dead_at IS NOT NULL;
CREATE INDEX message_delivery_expiry ON message_delivery (workspace_id, expires_at) WHERE expires_at IS NOT NULL;

-- How far the log's events have become messages.
CREATE TABLE message_bridge (
    workspace_id uuid PRIMARY KEY REFERENCES workspace(id) ON DELETE CASCADE,
    place        text NOT NULL
);
-- What happened before there were messages becomes none.
ALTER TABLE workspace NO FORCE ROW LEVEL SECURITY;
INSERT INTO message_bridge (workspace_id, place) SELECT w.id, pg_current_xact_id()::text || '-0' FROM workspace w;
ALTER TABLE workspace FORCE ROW LEVEL SECURITY;

-- Positions of those who write messages or events elsewhere, by name.
CREATE TABLE message_export (
    workspace_id uuid NOT NULL REFERENCES workspace(id) ON DELETE CASCADE,
    name         text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 64),
    source       text NOT NULL CHECK (source IN ('messages', 'events')),
    place        text NOT NULL DEFAULT '',
    created_by   text NOT NULL,
    created_at   timestamptz NOT NULL DEFAULT now(),
    acked_at     timestamptz,
    PRIMARY KEY (workspace_id, name)
);

-- +goose StatementBegin
DO $$
DECLARE
    t text;
BEGIN
    FOREACH t IN ARRAY ARRAY['message', 'message_delivery', 'message_bridge', 'message_export']
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
GRANT SELECT, INSERT, DELETE ON message TO fleetboard_app;
GRANT SELECT, INSERT, UPDATE, DELETE ON message_delivery TO fleetboard_app;
GRANT SELECT, INSERT, UPDATE ON message_bridge TO fleetboard_app;
GRANT SELECT, INSERT, UPDATE, DELETE ON message_export TO fleetboard_app;

-- The newest messages of a workspace with these words, at most max_rows. It runs as the
-- tables' owner, whom no policy keeps from using the index of words; so it looks itself
-- that the transaction is of that workspace.
CREATE POLICY search ON message FOR SELECT TO CURRENT_USER USING (true);
-- +goose StatementBegin
CREATE FUNCTION find_messages(workspace uuid, wanted tsquery, before bigint, max_rows integer)
    RETURNS TABLE (seq bigint, rank real)
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS
$$
BEGIN
    IF workspace IS DISTINCT FROM nullif(current_setting('app.workspace_id', true), '')::uuid THEN
        RAISE insufficient_privilege USING MESSAGE = 'this transaction is of another workspace';
    END IF;
    RETURN QUERY SELECT m.seq,
            ts_rank(public.message_words(m.workspace_id, m.type, m.from_name, m.to_name, m.correlation_id, m.payload), wanted)
        FROM public.message m
        WHERE m.workspace_id = workspace
            AND public.message_words(m.workspace_id, m.type, m.from_name, m.to_name, m.correlation_id, m.payload)
                @@ (quote_literal(workspace::text)::tsquery && wanted) AND m.seq < before
        ORDER BY m.seq DESC LIMIT max_rows;
END
$$;
-- +goose StatementEnd
REVOKE ALL ON FUNCTION find_messages(workspace uuid, wanted tsquery, before bigint, max_rows integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION find_messages(workspace uuid, wanted tsquery, before bigint, max_rows integer) TO fleetboard_app;
