-- +goose Up

-- Which model an engine runs the jobs of a product with, by tier: {"claude": {"large": "opus"}}.
ALTER TABLE product ADD COLUMN models jsonb NOT NULL DEFAULT '{}'
    CHECK (jsonb_typeof(models) = 'object' AND octet_length(models::text) <= 8192);

-- What ran an attempt, as its agent said when it began: the engine, the tier, and whether the
-- product, the worker's own table or the worker's default named the model.
ALTER TABLE attempt
    ADD COLUMN engine    text NOT NULL DEFAULT '' CHECK (char_length(engine) <= 32),
    ADD COLUMN tier      text NOT NULL DEFAULT '' CHECK (tier IN ('', 'small', 'standard', 'large')),
    ADD COLUMN model_why text NOT NULL DEFAULT '' CHECK (model_why IN ('', 'product', 'worker', 'default'));

-- As before, with the models of the product.
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
