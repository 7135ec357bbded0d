-- +goose Up

-- What people say about lines of work that was handed in, and what agents answer. A comment begins a thread, whose id
-- is its own; a reply has the thread's. Only the first of a thread is resolved. line is 0 for the whole file, and
-- line_text what stood there. epoch is the attempt that handed the commit in, or that answers.
CREATE TABLE job_comment (
    workspace_id     uuid NOT NULL,
    id               uuid NOT NULL,
    job_id           uuid NOT NULL,
    thread_id        uuid NOT NULL,
    epoch            bigint NOT NULL CHECK (epoch > 0),
    commit           text NOT NULL CHECK (char_length(commit) BETWEEN 1 AND 100),
    path             text NOT NULL CHECK (char_length(path) BETWEEN 1 AND 512),
    line             integer NOT NULL CHECK (line BETWEEN 0 AND 10000000),
    side             text NOT NULL CHECK (side IN ('old', 'new')),
    line_text        text NOT NULL DEFAULT '' CHECK (char_length(line_text) <= 400),
    text             text NOT NULL CHECK (char_length(text) BETWEEN 1 AND 2000),
    author_kind      text NOT NULL CHECK (author_kind IN ('person', 'agent')),
    author_id        text NOT NULL,
    author           text NOT NULL,
    created_at       timestamptz NOT NULL DEFAULT now(),
    edited_at        timestamptz,
    resolved_at      timestamptz,
    resolved_by_kind text NOT NULL DEFAULT '',
    resolved_by_id   text NOT NULL DEFAULT '',
    resolved_by      text NOT NULL DEFAULT '',
    PRIMARY KEY (workspace_id, id),
    FOREIGN KEY (workspace_id, job_id) REFERENCES job(workspace_id, id) ON DELETE CASCADE,
    CHECK (thread_id = id OR resolved_at IS NULL),
    CHECK ((resolved_at IS NULL) = (resolved_by_kind = ''))
);
CREATE INDEX job_comment_job ON job_comment (workspace_id, job_id, id);
CREATE INDEX job_comment_open ON job_comment (workspace_id, job_id) WHERE thread_id = id AND resolved_at IS NULL;

ALTER TABLE job_comment ENABLE ROW LEVEL SECURITY;
ALTER TABLE job_comment FORCE ROW LEVEL SECURITY;
CREATE POLICY workspace ON job_comment TO fleetboard_app
    USING (workspace_id = (SELECT nullif(current_setting('app.workspace_id', true), '')::uuid))
    WITH CHECK (workspace_id = (SELECT nullif(current_setting('app.workspace_id', true), '')::uuid));
GRANT SELECT, INSERT, UPDATE, DELETE ON job_comment TO fleetboard_app;

SELECT add_event_types('job.commented', 'job.comment_edited', 'job.comment_resolved', 'job.comment_reopened',
    'job.comments_answered');

-- As before, with comments_open: how many threads about the work are not resolved.
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
    (SELECT count(*) FROM job_comment o WHERE o.workspace_id = j.workspace_id AND o.job_id = j.id AND o.thread_id = o.id
        AND o.resolved_at IS NULL)::integer AS comments_open,
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
