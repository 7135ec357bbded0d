-- +goose Up

-- A worker host, as its agents last described it.
CREATE TABLE factory (
    workspace_id uuid NOT NULL,
    id           uuid NOT NULL,
    name         text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 64),
    os           text NOT NULL DEFAULT '',
    host         text NOT NULL DEFAULT '',
    engines      text[] NOT NULL DEFAULT '{}',
    capabilities text[] NOT NULL DEFAULT '{}',
    -- [{name, url, default_branch}]
    repos        jsonb NOT NULL DEFAULT '[]',
    seats        integer NOT NULL DEFAULT 1 CHECK (seats BETWEEN 1 AND 1000),
    -- No new claims; current jobs may end.
    draining     boolean NOT NULL DEFAULT false,
    drained_by   text NOT NULL DEFAULT '',
    drained_at   timestamptz,
    created_at   timestamptz NOT NULL DEFAULT now(),
    updated_at   timestamptz NOT NULL DEFAULT now(),
    -- The enrolment token that a factory belongs to: of the agents that described it
    -- before, one of a token that reaches as far as any.
    enrolment_id uuid,
    PRIMARY KEY (workspace_id, id),
    CONSTRAINT factory_name_key UNIQUE (workspace_id, name),
    FOREIGN KEY (workspace_id) REFERENCES workspace(id) ON DELETE CASCADE,
    CHECK (draining = (drained_at IS NOT NULL))
);

-- Heartbeats rewrite this row: half the page is left free and no index stands
-- on what they change, so that the new row fits beside the old one.
CREATE TABLE agent (
    workspace_id               uuid NOT NULL,
    id                         uuid NOT NULL,
    factory_id                 uuid NOT NULL,
    name                       text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 64),
    model                      text NOT NULL DEFAULT '',
    capabilities               text[] NOT NULL DEFAULT '{}',
    max_concurrent_jobs        integer NOT NULL DEFAULT 1 CHECK (max_concurrent_jobs BETWEEN 1 AND 100),
    heartbeat_interval_seconds integer NOT NULL DEFAULT 10 CHECK (heartbeat_interval_seconds BETWEEN 1 AND 3600),
    stale_after_seconds        integer CHECK (stale_after_seconds BETWEEN 1 AND 86400),
    boot_id                    text NOT NULL CHECK (char_length(boot_id) BETWEEN 1 AND 128),
    -- Scope of the enrolment token it registered with.
    products                   text[] NOT NULL DEFAULT '{}',
    status                     text NOT NULL DEFAULT 'idle' CHECK (status IN ('idle', 'working', 'blocked')),
    memory_mb                  integer,
    cpu_percent                real,
    last_heartbeat_at          timestamptz NOT NULL DEFAULT now(),
    -- Set when a person ended the agent: no claims from then on.
    terminated_at              timestamptz,
    terminate_reason           text NOT NULL DEFAULT '',
    created_at                 timestamptz NOT NULL DEFAULT now(),
    registered_at              timestamptz NOT NULL DEFAULT now(),
    -- 30 missed intervals, or three times the agent's own stale time (docs/concepts.md).
    dead_after_seconds         integer GENERATED ALWAYS AS (COALESCE((stale_after_seconds * 3),
        (heartbeat_interval_seconds * 30))) STORED NOT NULL,
    -- The health that was told last, in the log and on the pages: who tells of a
    -- change sets it in the same transaction, so that each one is told once.
    health_told                text NOT NULL DEFAULT 'healthy' CHECK (health_told IN ('healthy', 'warn', 'stale',
        'dead')),
    -- The enrolment token that the agent registered with last; unknown for those
    -- from before. Tokens of a generation below the agent's are refused.
    enrolment_id               uuid,
    generation                 bigint NOT NULL DEFAULT 0 CHECK (generation >= 0),
    -- Set while a boot that a person cut off is the last one known.
    cut_off_at                 timestamptz,
    -- Whether an agent that a person ended may end its jobs.
    ended_gracefully           boolean NOT NULL DEFAULT false,
    PRIMARY KEY (workspace_id, id),
    CONSTRAINT agent_name_key UNIQUE (workspace_id, name),
    FOREIGN KEY (workspace_id, factory_id) REFERENCES factory(workspace_id, id) ON DELETE CASCADE
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500,
    autovacuum_vacuum_cost_delay = 0, vacuum_truncate = false);
CREATE INDEX agent_factory ON agent (workspace_id, factory_id);

-- Each shows and takes only rows of the transaction's workspace. Outside a transaction
-- the setting is the empty string, hence nullif; the sub-select makes it evaluated
-- once, not per row.
-- +goose StatementBegin
DO $$
DECLARE
    t text;
BEGIN
    FOREACH t IN ARRAY ARRAY['factory', 'agent']
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

GRANT SELECT, INSERT, DELETE, UPDATE ON factory TO fleetboard_app;
CREATE POLICY system ON agent FOR SELECT TO fleetboard_system
    USING (true);
GRANT SELECT, INSERT, DELETE, UPDATE ON agent TO fleetboard_app;
GRANT SELECT (workspace_id, id, last_heartbeat_at, terminated_at, dead_after_seconds,
    health_told) ON agent TO fleetboard_system;

-- How alive an agent is that was last heard of at a time, by docs/concepts.md:
-- warn, stale and dead after 3, 10 and 30 of the 30 intervals that dead_after is.
-- +goose StatementBegin
CREATE FUNCTION agent_health(heard_at timestamptz, dead_after integer, at timestamptz) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE
        WHEN at - heard_at >= make_interval(secs => dead_after) THEN 'dead'
        WHEN at - heard_at >= make_interval(secs => dead_after / 3.0) THEN 'stale'
        WHEN at - heard_at >= make_interval(secs => dead_after / 10.0) THEN 'warn'
        ELSE 'healthy'
    END;
-- +goose StatementEnd
GRANT EXECUTE ON FUNCTION agent_health(heard_at timestamptz, dead_after integer, at timestamptz) TO fleetboard_app;
GRANT EXECUTE ON FUNCTION agent_health(heard_at timestamptz, dead_after integer, at timestamptz) TO fleetboard_system;

-- An agent or a factory that has a lease stays, unless its workspace goes with all jobs.
-- +goose StatementBegin
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

CREATE TRIGGER holder_gone AFTER DELETE ON agent FOR EACH ROW EXECUTE FUNCTION holder_gone();
CREATE TRIGGER holder_gone AFTER DELETE ON factory FOR EACH ROW EXECUTE FUNCTION holder_gone();
