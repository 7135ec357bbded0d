-- +goose Up

-- Whether work that is handed in is verified by an agent before a person looks at it: by one that
-- offers these capabilities, and that is another one than the author: another agent, or one that
-- runs another model, or models of another provider. Work that a verifier sends back so often goes
-- to a person.
ALTER TABLE product
    ADD COLUMN verify_mode         text NOT NULL DEFAULT 'off' CHECK (verify_mode IN ('off', 'agent')),
    ADD COLUMN verify_capabilities text[] NOT NULL DEFAULT '{}',
    ADD COLUMN verify_rounds       smallint NOT NULL DEFAULT 2 CHECK (verify_rounds BETWEEN 0 AND 5),
    ADD COLUMN verify_distinct     text NOT NULL DEFAULT 'agent' CHECK (verify_distinct IN ('agent', 'model', 'provider'));

-- The jobs that verify what others have handed in, one for each time that it was. Their order is made
-- of these rows: the attempt and the commit, and what the work had to meet as it was handed in. One that
-- is not decided is open. The verified job may be deleted meanwhile.
CREATE TABLE job_verify (
    workspace_id  uuid NOT NULL,
    verify_job_id uuid NOT NULL,
    job_id        uuid,
    epoch         bigint NOT NULL CHECK (epoch > 0),
    commit        text NOT NULL CHECK (char_length(commit) BETWEEN 1 AND 100),
    branch        text NOT NULL DEFAULT '' CHECK (char_length(branch) <= 255),
    acceptance    jsonb NOT NULL,
    diff_blob     text NOT NULL DEFAULT '' CHECK (char_length(diff_blob) <= 64),
    distinct_by   text NOT NULL CHECK (distinct_by IN ('agent', 'model', 'provider')),
    created_at    timestamptz NOT NULL DEFAULT now(),
    decided_at    timestamptz,
    PRIMARY KEY (workspace_id, verify_job_id),
    FOREIGN KEY (workspace_id, verify_job_id) REFERENCES job(workspace_id, id) ON DELETE CASCADE,
    FOREIGN KEY (workspace_id, job_id) REFERENCES job(workspace_id, id) ON DELETE SET NULL (job_id)
);
CREATE UNIQUE INDEX job_verify_attempt ON job_verify (workspace_id, job_id, epoch);
CREATE INDEX job_verify_open ON job_verify (workspace_id, verify_job_id) WHERE decided_at IS NULL;

ALTER TABLE job_verify ENABLE ROW LEVEL SECURITY;
ALTER TABLE job_verify FORCE ROW LEVEL SECURITY;
CREATE POLICY workspace ON job_verify TO fleetboard_app
    USING (workspace_id = (SELECT nullif(current_setting('app.workspace_id', true), '')::uuid))
    WITH CHECK (workspace_id = (SELECT nullif(current_setting('app.workspace_id', true), '')::uuid));
CREATE POLICY system ON job_verify FOR SELECT TO fleetboard_system USING (decided_at IS NULL);
GRANT SELECT, INSERT, UPDATE ON job_verify TO fleetboard_app;
GRANT SELECT (workspace_id, decided_at) ON job_verify TO fleetboard_system;

-- As before, with verify_mode.
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
    p.serialise,
    p.review_limit,
    p.models AS product_models,
    p.verify_mode,
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
    l.warned_at AS lease_warned_at,
    -- One look for each job: an EXISTS would be hashed, from the whole table.
    coalesce((SELECT true FROM budget_reservation v WHERE v.workspace_id = j.workspace_id AND v.job_id = l.job_id AND v.epoch = l.epoch
        LIMIT 1), false)::boolean AS lease_reserved
FROM job j
JOIN job_text t ON t.workspace_id = j.workspace_id AND t.job_id = j.id
JOIN product p ON p.workspace_id = j.workspace_id AND p.id = j.product_id
CROSS JOIN LATERAL (
    SELECT x.* FROM (SELECT 1) one LEFT JOIN job_lease x ON x.workspace_id = j.workspace_id AND x.job_id = j.id OFFSET 0
) l;
GRANT SELECT ON job_full TO fleetboard_app;
