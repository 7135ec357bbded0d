-- +goose Up

-- Which jobs of a repo a product keeps from being worked on at once: none, all others (repo), or
-- those that may touch the same file (paths). It takes the place of one_job_per_repo.
DROP VIEW job_full;
ALTER TABLE product ALTER COLUMN one_job_per_repo DROP DEFAULT,
    ALTER COLUMN one_job_per_repo TYPE text USING CASE WHEN one_job_per_repo THEN 'repo' ELSE 'none' END;
ALTER TABLE product RENAME COLUMN one_job_per_repo TO serialise;
ALTER TABLE product ALTER COLUMN serialise SET DEFAULT 'none',
    ADD CONSTRAINT product_serialise_check CHECK (serialise IN ('none', 'repo', 'paths'));

-- As before, but for that column.
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

-- A job may have a repo for itself (files is NULL), as before, or share it with jobs that may
-- touch no file that it may touch. One job has one place at most.
ALTER TABLE repo_slot ADD COLUMN files text[],
    DROP CONSTRAINT repo_slot_pkey,
    DROP CONSTRAINT repo_slot_job_key,
    ADD PRIMARY KEY (workspace_id, job_id);
CREATE UNIQUE INDEX repo_slot_alone ON repo_slot (workspace_id, repo) WHERE files IS NULL;
CREATE INDEX repo_slot_repo ON repo_slot (workspace_id, repo);

-- What waits for a path is found in the order in which it may come next, like what waits for a
-- repo; and what waits for either, by its product.
ALTER TABLE job DROP CONSTRAINT job_wait_reason_check;
ALTER TABLE job ADD CONSTRAINT job_wait_reason_check CHECK (wait_reason IN ('', 'dependency', 'not_before', 'retry_backoff',
    'budget', 'repo_busy', 'review_backlog', 'paths_busy')) NOT VALID;
ALTER TABLE job VALIDATE CONSTRAINT job_wait_reason_check;
CREATE INDEX job_held_paths ON job (workspace_id, repo, priority DESC, status_at, id) WHERE ((status = 'waiting')
    AND (wait_reason = 'paths_busy'));
DROP INDEX job_held_product;
CREATE INDEX job_held_product ON job (workspace_id, product_id, wait_reason, priority DESC, status_at,
    id) WHERE ((status = 'waiting') AND (wait_reason IN ('repo_busy', 'review_backlog', 'paths_busy')));
