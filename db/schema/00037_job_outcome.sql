-- +goose Up

-- Which files a job means to touch (globs), and what came of it: the files that its
-- agent touched, the commit that was approved, the one that it was merged as, where
-- that is to be seen, and of which kind its last failure was.
ALTER TABLE job
    ADD COLUMN files text[] NOT NULL DEFAULT '{}' CHECK (cardinality(files) <= 100),
    ADD COLUMN files_touched text[] NOT NULL DEFAULT '{}' CHECK (cardinality(files_touched) <= 1000),
    ADD COLUMN failure_kind text NOT NULL DEFAULT '' CHECK (failure_kind IN ('', 'timeout', 'budget_exceeded', 'crash',
        'checks_failed', 'capability_mismatch', 'engine_missing', 'rate_limited', 'merge_conflict', 'clone_failed', 'other')),
    ADD COLUMN approved_head text NOT NULL DEFAULT '' CHECK (char_length(approved_head) <= 100),
    ADD COLUMN merged_commit text NOT NULL DEFAULT '' CHECK (char_length(merged_commit) <= 100),
    ADD COLUMN url text NOT NULL DEFAULT '' CHECK (char_length(url) <= 2000);

-- Work that was handed in and sent back.
ALTER TABLE attempt DROP CONSTRAINT attempt_outcome_check, ADD CONSTRAINT attempt_outcome_check
    CHECK (outcome IN ('', 'completed', 'failed', 'released', 'lost', 'cancelled', 'paused', 'asked', 'blocked', 'timeout',
        'rejected'));

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
CROSS JOIN LATERAL (
    SELECT x.* FROM (SELECT 1) one LEFT JOIN job_lease x ON x.workspace_id = j.workspace_id AND x.job_id = j.id OFFSET 0
) l
LEFT JOIN agent a ON a.workspace_id = l.workspace_id AND a.id = l.agent_id
LEFT JOIN factory f ON f.workspace_id = l.workspace_id AND f.id = l.factory_id;
GRANT SELECT ON job_full TO fleetboard_app;
