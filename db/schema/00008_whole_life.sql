-- +goose Up

-- A lane belongs to a product: what stops a product's claims (a pause, its
-- review backlog) is then decided per lane, in memory, and no claim has to read
-- past jobs that it may not take (ADR 0013). Existing lanes are split.
-- An owner that is no superuser sees rows only while the policies are not forced
-- on it; so does the check of the new foreign key.
ALTER TABLE product NO FORCE ROW LEVEL SECURITY;
ALTER TABLE lane NO FORCE ROW LEVEL SECURITY;
ALTER TABLE job NO FORCE ROW LEVEL SECURITY;
ALTER TABLE job_ready NO FORCE ROW LEVEL SECURITY;
ALTER TABLE lane ADD COLUMN product_id uuid;
INSERT INTO lane (workspace_id, needs, factory, digest, product_id)
SELECT DISTINCT l.workspace_id, l.needs, l.factory, sha256(l.digest || uuid_send(j.product_id)), j.product_id
FROM job j JOIN lane l ON l.workspace_id = j.workspace_id AND l.id = j.lane_id;
UPDATE job j SET lane_id = n.id FROM lane o, lane n
WHERE o.workspace_id = j.workspace_id AND o.id = j.lane_id AND n.workspace_id = j.workspace_id
    AND n.digest = sha256(o.digest || uuid_send(j.product_id));
UPDATE job_ready r SET lane_id = j.lane_id FROM job j WHERE j.workspace_id = r.workspace_id AND j.id = r.job_id;
DELETE FROM lane WHERE product_id IS NULL;
ALTER TABLE lane ALTER COLUMN product_id SET NOT NULL,
    ADD FOREIGN KEY (workspace_id, product_id) REFERENCES product ON DELETE CASCADE;
ALTER TABLE product FORCE ROW LEVEL SECURITY;
ALTER TABLE lane FORCE ROW LEVEL SECURITY;
ALTER TABLE job FORCE ROW LEVEL SECURITY;
ALTER TABLE job_ready FORCE ROW LEVEL SECURITY;

-- Whether the job cannot be completed while a child of it is open.
ALTER TABLE job ADD COLUMN waits_for_children boolean NOT NULL DEFAULT false;
-- Which acceptance criteria a person ticked: booleans beside job_text.acceptance.
ALTER TABLE job_text ADD COLUMN acceptance_met jsonb NOT NULL DEFAULT '[]';
-- When the holder was told that its estimate is long over.
ALTER TABLE job_lease ADD COLUMN warned_at timestamptz;

-- Which job of a repo may be ready or worked on, in products that allow one at
-- a time. The others wait with the reason repo_busy.
CREATE TABLE repo_slot (
    workspace_id uuid NOT NULL,
    repo         text NOT NULL,
    job_id       uuid NOT NULL,
    taken_at     timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT repo_slot_pkey PRIMARY KEY (workspace_id, repo),
    CONSTRAINT repo_slot_job_key UNIQUE (workspace_id, job_id),
    FOREIGN KEY (workspace_id, job_id) REFERENCES job ON DELETE CASCADE
);

-- A product's review backlog.
CREATE INDEX job_in_review ON job (workspace_id, product_id) WHERE status = 'in_review';
-- The review queue, the oldest first.
CREATE INDEX job_review ON job (workspace_id, status, status_at, id) WHERE status IN ('in_review', 'approved');
-- What waits for a repo, or for a place in the review queue, the most urgent first.
CREATE INDEX job_held ON job (workspace_id, wait_reason, priority DESC, status_at, id)
    WHERE status = 'waiting' AND wait_reason IN ('repo_busy', 'review_backlog');

-- What agents write down while they work.
CREATE TABLE job_log (
    workspace_id uuid NOT NULL,
    id           bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
    job_id       uuid NOT NULL,
    epoch        bigint NOT NULL,
    agent        text NOT NULL,
    level        text NOT NULL CHECK (level IN ('DEBUG', 'INFO', 'WARNING', 'ERROR', 'CRITICAL')),
    event        text NOT NULL DEFAULT '' CHECK (char_length(event) <= 64),
    message      text NOT NULL CHECK (char_length(message) <= 10000),
    details      jsonb NOT NULL DEFAULT '{}',
    -- The agent's clock, where it gave one; received_at is ours.
    at           timestamptz,
    received_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (workspace_id, id),
    FOREIGN KEY (workspace_id, job_id) REFERENCES job ON DELETE CASCADE
);
CREATE INDEX job_log_job ON job_log (workspace_id, job_id, id);
CREATE INDEX job_log_age ON job_log (received_at);

-- Who leads, one row for each office. Leadership is an economy, never a proof:
-- all that a leader writes is safe if two lead.
CREATE TABLE leadership (
    name          text PRIMARY KEY,
    holder        text NOT NULL,
    -- Rises with each new holder.
    term          bigint NOT NULL,
    acquired_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
    renewed_at    timestamptz NOT NULL DEFAULT clock_timestamp(),
    expires_at    timestamptz NOT NULL,
    last_cycle_at timestamptz,
    cycle_count   bigint NOT NULL DEFAULT 0,
    -- Numbers of the cycles of this term, by name.
    stats         jsonb NOT NULL DEFAULT '{}'
);

-- What the coordinator did, for people to read. Lines without a workspace are
-- about the server as a whole.
CREATE TABLE coordinator_log (
    id           bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    workspace_id uuid REFERENCES workspace ON DELETE CASCADE,
    at           timestamptz NOT NULL DEFAULT clock_timestamp(),
    instance_id  text NOT NULL,
    term         bigint NOT NULL,
    level        text NOT NULL CHECK (level IN ('DEBUG', 'INFO', 'WARNING', 'ERROR', 'CRITICAL')),
    message      text NOT NULL,
    details      jsonb NOT NULL DEFAULT '{}'
);
CREATE INDEX coordinator_log_age ON coordinator_log (at);

-- +goose StatementBegin
DO $$
DECLARE
    t text;
BEGIN
    FOREACH t IN ARRAY ARRAY['repo_slot', 'job_log']
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
ALTER TABLE coordinator_log ENABLE ROW LEVEL SECURITY;
ALTER TABLE coordinator_log FORCE ROW LEVEL SECURITY;
CREATE POLICY workspace ON coordinator_log TO fleetboard_app
    USING (workspace_id IS NULL OR workspace_id = (SELECT nullif(current_setting('app.workspace_id', true), '')::uuid))
    WITH CHECK (workspace_id IS NOT DISTINCT FROM (SELECT nullif(current_setting('app.workspace_id', true), '')::uuid));

GRANT SELECT, INSERT, UPDATE, DELETE ON repo_slot TO fleetboard_app;
GRANT SELECT, INSERT, DELETE ON job_log, coordinator_log TO fleetboard_app;
GRANT SELECT, INSERT, UPDATE ON leadership TO fleetboard_app;

-- The view anew: a job has got columns, and what its product allows is read with it.
DROP VIEW job_full;
CREATE VIEW job_full WITH (security_invoker = true) AS
SELECT j.*,
    t.body,
    t.acceptance,
    t.acceptance_met,
    t.input_context,
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
