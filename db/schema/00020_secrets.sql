-- +goose Up

-- The data keys of a workspace, wrapped by the server's key; the newest one
-- writes. A key is retired when no value is left that it sealed.
CREATE TABLE workspace_key (
    workspace_id uuid NOT NULL REFERENCES workspace ON DELETE CASCADE,
    id           integer NOT NULL CHECK (id > 0),
    wrapped      bytea NOT NULL,
    -- Tells which of the server's keys wrapped it, without telling the key.
    server_key   bytea NOT NULL CHECK (octet_length(server_key) = 8),
    -- How many values were sealed anew with a later key.
    moved        bigint NOT NULL DEFAULT 0 CHECK (moved >= 0),
    made_at      timestamptz NOT NULL DEFAULT now(),
    retired_at   timestamptz,
    PRIMARY KEY (workspace_id, id)
);
-- Where more than one key lives, a rotation is under way.
CREATE INDEX workspace_key_live ON workspace_key (workspace_id, id) WHERE retired_at IS NULL;

-- The values of job_text.input_context that are secret, one row each. The
-- context itself has "[secret]" in their place.
CREATE TABLE job_secret (
    workspace_id uuid NOT NULL,
    job_id       uuid NOT NULL,
    name         text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 128),
    key_id       integer NOT NULL,
    -- A byte for the version of the form, and what the key sealed.
    sealed       bytea NOT NULL,
    PRIMARY KEY (workspace_id, job_id, name),
    FOREIGN KEY (workspace_id, job_id) REFERENCES job ON DELETE CASCADE,
    FOREIGN KEY (workspace_id, key_id) REFERENCES workspace_key
) WITH (fillfactor = 80);
-- What a rotation still has to do.
CREATE INDEX job_secret_key ON job_secret (workspace_id, key_id, job_id, name);

-- +goose StatementBegin
DO $$
DECLARE
    t text;
BEGIN
    FOREACH t IN ARRAY ARRAY['workspace_key', 'job_secret']
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

-- A key is never deleted by itself: what it sealed would be lost.
GRANT SELECT, INSERT, UPDATE ON workspace_key TO fleetboard_app;
GRANT SELECT, INSERT, UPDATE, DELETE ON job_secret TO fleetboard_app;
-- The loops learn where a rotation is under way and which keys an earlier key of
-- the server wraps.
CREATE POLICY system ON workspace_key FOR SELECT TO fleetboard_system USING (true);
GRANT SELECT (workspace_id, id, server_key, retired_at) ON workspace_key TO fleetboard_system;

-- Which keys of input_context are secret: a job without any costs nobody a look
-- into job_secret.
ALTER TABLE job_text ADD COLUMN secret_keys text[] NOT NULL DEFAULT '{}';

DROP VIEW job_full;
CREATE VIEW job_full WITH (security_invoker = true) AS
SELECT j.*,
    t.body,
    t.acceptance,
    t.acceptance_met,
    t.input_context,
    t.secret_keys,
    p.name AS product,
    coalesce(j.review_required, p.review_required) AS review_needed,
    p.paused AS product_paused,
    p.one_job_per_repo,
    p.review_limit,
    ARRAY(SELECT d.key FROM job_dependency x
        JOIN job d ON d.workspace_id = x.workspace_id AND d.id = x.depends_on_id
        WHERE x.workspace_id = j.workspace_id AND x.job_id = j.id AND x.type = 'blocks'
        ORDER BY x.created_at, d.key)::text[] AS depends_on,
    l.epoch AS lease_epoch,
    l.agent_id AS lease_agent_id,
    a.name AS lease_agent,
    l.factory_id AS lease_factory_id,
    f.name AS lease_factory,
    l.session_key AS lease_session_key,
    l.ttl_seconds AS lease_ttl_seconds,
    l.claimed_at AS lease_claimed_at,
    l.expires_at AS lease_expires_at,
    l.progress_percent AS lease_progress_percent,
    l.current_step AS lease_current_step,
    l.progress_at AS lease_progress_at,
    l.checkpoint AS lease_checkpoint,
    l.directive AS lease_directive,
    l.directive_reason AS lease_directive_reason,
    l.directive_by AS lease_directive_by,
    l.grace_ends_at AS lease_grace_ends_at,
    l.warned_at AS lease_warned_at
FROM job j
JOIN job_text t ON t.workspace_id = j.workspace_id AND t.job_id = j.id
JOIN product p ON p.workspace_id = j.workspace_id AND p.id = j.product_id
LEFT JOIN job_lease l ON l.workspace_id = j.workspace_id AND l.job_id = j.id
LEFT JOIN agent a ON a.workspace_id = l.workspace_id AND a.id = l.agent_id
LEFT JOIN factory f ON f.workspace_id = l.workspace_id AND f.id = l.factory_id;
GRANT SELECT ON job_full TO fleetboard_app;
