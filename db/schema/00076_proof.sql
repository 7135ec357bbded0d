-- +goose Up

SELECT add_event_types('log.lost', 'log.loss_noted');

-- Which PostgreSQL the rows lie in. A standby that was promoted, a restore to a point in time and a
-- restore into another cluster have another identity than the row says, until a server has noticed it.
CREATE TABLE database_identity (
    only_row   boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    -- Of the cluster, pg_control_system().
    system     text NOT NULL CHECK (char_length(system) BETWEEN 1 AND 64),
    -- Rises with each promotion and each restore to a point in time.
    timeline   bigint NOT NULL CHECK (timeline > 0),
    since      timestamptz NOT NULL DEFAULT clock_timestamp()
);
GRANT SELECT, INSERT, UPDATE ON database_identity TO fleetboard_app;

-- +goose StatementBegin
-- Which PostgreSQL answers. A standby has no timeline of its own: 0.
CREATE FUNCTION answering_database(OUT system text, OUT timeline bigint)
    LANGUAGE sql VOLATILE AS
$$
    SELECT (SELECT c.system_identifier::text FROM pg_control_system() c), CASE WHEN pg_is_in_recovery() THEN 0
        ELSE ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::bigint END
$$;
-- +goose StatementEnd

-- A look at everything, which a new identity causes.
CREATE TABLE database_proof (
    id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    kind         text NOT NULL CHECK (kind IN ('promoted', 'moved')),
    system       text NOT NULL CHECK (char_length(system) BETWEEN 1 AND 64),
    timeline     bigint NOT NULL CHECK (timeline > 0),
    noticed_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- The process that looks, and when it last said so; another one takes over from one that is silent.
    looker       text NOT NULL DEFAULT '' CHECK (char_length(looker) <= 200),
    renewed_at   timestamptz NOT NULL DEFAULT '-infinity',
    done_at      timestamptz,
    workspaces   bigint NOT NULL DEFAULT 0,
    jobs         bigint NOT NULL DEFAULT 0,
    -- How often a rule of audit or verify-log was broken, and the first hundred:
    -- [{"check", "workspace", "job", "detail"}].
    found        bigint NOT NULL DEFAULT 0,
    findings     jsonb NOT NULL DEFAULT '[]' CHECK (jsonb_typeof(findings) = 'array' AND octet_length(findings::text) <= 262144),
    -- What could not be looked at, '' where everything was.
    blind        text NOT NULL DEFAULT '' CHECK (char_length(blind) <= 1000)
);
GRANT SELECT, INSERT, UPDATE ON database_proof TO fleetboard_app;

-- What a workspace's log lacks that a server had seen in it.
CREATE TABLE log_loss (
    workspace_id uuid NOT NULL,
    id           bigint GENERATED ALWAYS AS IDENTITY,
    noticed_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- The process that had seen it.
    noticed_by   text NOT NULL CHECK (char_length(noticed_by) <= 200),
    -- What is wrong with a log that was cut, and the block that it had been sealed up to.
    detail       text NOT NULL DEFAULT '' CHECK (char_length(detail) <= 1000),
    block        bigint NOT NULL DEFAULT 0 CHECK (block >= 0),
    -- The first thousand of the events: [{"id", "at", "type", "job_id", "key"}].
    events       jsonb NOT NULL DEFAULT '[]' CHECK (jsonb_typeof(events) = 'array' AND octet_length(events::text) <= 1048576),
    event_count  bigint NOT NULL DEFAULT 0 CHECK (event_count >= 0),
    first_event  bigint NOT NULL DEFAULT 0,
    last_event   bigint NOT NULL DEFAULT 0,
    -- When a person said that it is known.
    noted_at     timestamptz,
    PRIMARY KEY (workspace_id, id),
    FOREIGN KEY (workspace_id) REFERENCES workspace(id) ON DELETE CASCADE
);
CREATE INDEX log_loss_open ON log_loss (workspace_id, id) WHERE noted_at IS NULL;
ALTER TABLE log_loss ENABLE ROW LEVEL SECURITY;
ALTER TABLE log_loss FORCE ROW LEVEL SECURITY;
CREATE POLICY workspace ON log_loss TO fleetboard_app
    USING (workspace_id = (SELECT nullif(current_setting('app.workspace_id', true), '')::uuid))
    WITH CHECK (workspace_id = (SELECT nullif(current_setting('app.workspace_id', true), '')::uuid));
GRANT SELECT, INSERT, UPDATE ON log_loss TO fleetboard_app;
