-- +goose Up

-- That the checks of a merge, or of its pull request, have sent the work back to its agent: a round, as that
-- of a verifier.
ALTER TABLE job_merge ADD COLUMN sent_back boolean NOT NULL DEFAULT false, ADD CHECK (NOT sent_back OR decided_at IS NOT NULL);

-- As before, with rounds of both kinds.
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
    coalesce(p.auto_approve AND NOT p.auto_require_verdict, false)::boolean AS approves_unverified,
    CASE WHEN p.verify_mode <> 'off' THEN coalesce((SELECT m.verdict FROM job_verify m WHERE m.workspace_id = j.workspace_id
        AND m.job_id = j.id AND m.commit = j.result ->> 'commit' AND m.verdict <> ''), '') ELSE '' END::text AS verdict,
    CASE WHEN p.verify_mode <> 'off' THEN (SELECT count(*) FROM job_verify m WHERE m.workspace_id = j.workspace_id
        AND m.job_id = j.id AND m.sent_back) + (SELECT count(*) FROM job_merge g WHERE g.workspace_id = j.workspace_id
        AND g.job_id = j.id AND g.sent_back) ELSE 0 END::integer AS verify_round,
    CASE WHEN j.kind = 'verify' THEN coalesce((SELECT k.key FROM job_verify m JOIN job k ON k.workspace_id = m.workspace_id
        AND k.id = m.job_id WHERE m.workspace_id = j.workspace_id AND m.verify_job_id = j.id), '') ELSE '' END::text AS verifies,
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
