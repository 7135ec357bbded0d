-- +goose Up

-- One narrow row exactly while a job is claimable. The claim is the top of
-- job_ready_claim, whatever else the workspace holds.
CREATE TABLE job_ready (
    workspace_id uuid NOT NULL,
    lane_id      bigint NOT NULL,
    priority     smallint NOT NULL,
    ready_at     timestamptz NOT NULL,
    job_id       uuid NOT NULL,
    PRIMARY KEY (workspace_id, job_id)
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500,
    autovacuum_vacuum_insert_threshold = -1, autovacuum_vacuum_cost_delay = 0, autovacuum_analyze_scale_factor = 0.2,
    vacuum_truncate = false);
CREATE INDEX job_ready_claim ON job_ready (workspace_id, lane_id, priority DESC, ready_at, job_id);

-- One row exactly while a job is assigned or running. Progress is written here,
-- not on the job: a new claim starts with a new row, so nothing of the last
-- lease can be taken for news of this one.
CREATE TABLE job_lease (
    workspace_id      uuid NOT NULL,
    job_id            uuid NOT NULL,
    epoch             bigint NOT NULL,
    agent_id          uuid NOT NULL,
    factory_id        uuid NOT NULL,
    session_key       text NOT NULL DEFAULT '',
    request_id        text NOT NULL DEFAULT '',
    ttl_seconds       integer NOT NULL CHECK (ttl_seconds BETWEEN 10 AND 86400),
    claimed_at        timestamptz NOT NULL DEFAULT now(),
    expires_at        timestamptz NOT NULL,
    progress_percent  smallint CHECK (progress_percent BETWEEN 0 AND 100),
    current_step      text NOT NULL DEFAULT '',
    progress_at       timestamptz,
    checkpoint        jsonb,
    -- What the agent is asked to do: '', warn, pause, cancel, drain.
    directive         text NOT NULL DEFAULT '' CHECK (directive IN ('', 'warn', 'pause', 'cancel', 'drain')),
    directive_reason  text NOT NULL DEFAULT '',
    directive_by      text NOT NULL DEFAULT '',
    -- When the directive is carried out without the agent.
    grace_ends_at     timestamptz,
    -- When the holder was told that its estimate is long over.
    warned_at         timestamptz,
    -- Leases of one agent, and of one factory, in the order in which they were given:
    -- those that are left are behind those that ended, and are counted from the
    -- oldest one on. Whoever gives a lease holds the locks of both, so the order is
    -- that of the numbers.
    number            bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
    directive_by_kind text NOT NULL DEFAULT '',
    directive_by_id   text NOT NULL DEFAULT '',
    -- A request id is kept without the secrets of jobs that its agent held. The digest of
    -- what the agent said, under the server's secret key, is by what the same request finds
    -- its leases again; NULL where request_id is what it said.
    request_digest    bytea,
    -- A lease keeps the names of its agent and factory as they were at the claim, like
    -- its attempt: to look them up there costs a job that is read dozens of blocks where
    -- the plan was made before the first attempt.
    agent             text NOT NULL DEFAULT '',
    factory           text NOT NULL DEFAULT '',
    PRIMARY KEY (job_id)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500,
    autovacuum_vacuum_cost_delay = 0, vacuum_truncate = false);
CREATE INDEX job_lease_agent ON job_lease (agent_id, number);
CREATE INDEX job_lease_factory ON job_lease (factory_id, number);
-- Which workspaces have the few leases that were warned.
CREATE INDEX job_lease_warned ON job_lease (warned_at) WHERE (warned_at IS NOT NULL);

-- Which job of a repo may be ready or worked on, in products that allow one at
-- a time. The others wait with the reason repo_busy.
CREATE TABLE repo_slot (
    workspace_id uuid NOT NULL,
    repo         text NOT NULL,
    job_id       uuid NOT NULL,
    taken_at     timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (workspace_id, repo),
    CONSTRAINT repo_slot_job_key UNIQUE (workspace_id, job_id),
    FOREIGN KEY (workspace_id, job_id) REFERENCES job(workspace_id, id) ON DELETE CASCADE
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 100,
    autovacuum_vacuum_insert_threshold = -1, autovacuum_vacuum_cost_delay = 0, vacuum_truncate = false);

-- Each shows and takes only rows of the transaction's workspace. Outside a transaction
-- the setting is the empty string, hence nullif; the sub-select makes it evaluated
-- once, not per row.
-- +goose StatementBegin
DO $$
DECLARE
    t text;
BEGIN
    FOREACH t IN ARRAY ARRAY['job_ready', 'job_lease', 'repo_slot']
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

GRANT SELECT, INSERT, DELETE, UPDATE ON job_ready TO fleetboard_app;
CREATE POLICY system ON job_lease FOR SELECT TO fleetboard_system
    USING (true);
GRANT SELECT, INSERT, DELETE, UPDATE ON job_lease TO fleetboard_app;
GRANT SELECT (workspace_id, job_id, agent_id, claimed_at, expires_at, progress_at, directive, grace_ends_at,
    warned_at) ON job_lease TO fleetboard_system;
GRANT SELECT, INSERT, DELETE, UPDATE ON repo_slot TO fleetboard_app;

-- What is read of a job: its text, its product, what it waits for, and its lease, which
-- is looked up by itself (OFFSET 0): joined, it would be read in the order of its agents
-- or factories.
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
    coalesce(l.agent, '')::text AS lease_agent,
    l.factory_id AS lease_factory_id,
    coalesce(l.factory, '')::text AS lease_factory,
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
    l.directive_by_kind AS lease_directive_by_kind,
    l.directive_by_id AS lease_directive_by_id,
    l.grace_ends_at AS lease_grace_ends_at,
    l.warned_at AS lease_warned_at
FROM job j
JOIN job_text t ON t.workspace_id = j.workspace_id AND t.job_id = j.id
JOIN product p ON p.workspace_id = j.workspace_id AND p.id = j.product_id
CROSS JOIN LATERAL (
    SELECT x.* FROM (SELECT 1) one LEFT JOIN job_lease x ON x.workspace_id = j.workspace_id AND x.job_id = j.id OFFSET 0
) l;
GRANT SELECT ON job_full TO fleetboard_app;
