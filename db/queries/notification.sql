-- name: NotificationWorkspaces :many
-- The workspaces with members who want to be told.
SELECT DISTINCT workspace_id FROM notification_setting;

-- name: NotificationEscalating :many
-- The workspaces where the next person is to be told.
SELECT DISTINCT workspace_id FROM notification WHERE closed_at IS NULL AND escalate_at <= now();

-- name: NotificationPeople :many
-- The members of a workspace who want to be told, or were. Who is disabled, or has to set up a second
-- factor before all else, decides nothing.
SELECT s.account_id, s.channels, s.kinds, s.quiet_from, s.quiet_to, s.timezone, s.digest_minutes, s.escalate_minutes, s.escalate_to,
    m.role, a.email, a.name, (m.disabled_at IS NOT NULL OR w.require_second_factor AND a.password_hash <> '' AND NOT EXISTS (
        SELECT 1 FROM account_totp f WHERE f.account_id = a.id AND f.confirmed_at IS NOT NULL))::boolean AS disabled
FROM notification_setting s
JOIN membership m ON m.workspace_id = s.workspace_id AND m.account_id = s.account_id
JOIN workspace w ON w.id = s.workspace_id
JOIN account a ON a.id = s.account_id
WHERE s.workspace_id = @workspace_id ORDER BY s.account_id;

-- name: NotificationJobs :many
-- The jobs that wait for a person: the newest of each kind, and those that somebody was told of. The
-- rules are those of NeedsList, but that nobody knows the fleet here: work that is to be verified waits for
-- a person once its verify job was ready for ten minutes.
WITH found AS (
    (SELECT j.id FROM job j WHERE j.workspace_id = @workspace_id AND j.status = 'in_review' ORDER BY j.status_at DESC, j.id DESC LIMIT @max_rows)
    UNION
    (SELECT b.id FROM (
        SELECT j.id, j.status_at, j.question, j.answer FROM job j WHERE j.workspace_id = @workspace_id AND j.status = 'blocked'
        ORDER BY j.priority DESC, j.status_at, j.id LIMIT @max_scan
    ) b WHERE b.question <> '' AND b.answer = '' ORDER BY b.status_at DESC, b.id DESC LIMIT @max_rows)
    UNION
    (SELECT j.id FROM job j WHERE j.workspace_id = @workspace_id AND j.status = 'failed' AND j.kind NOT IN ('merge', 'verify')
    ORDER BY j.status_at DESC, j.id DESC LIMIT @max_rows)
    UNION
    SELECT n.job_id FROM notification n WHERE n.workspace_id = @workspace_id AND n.closed_at IS NULL AND n.job_id IS NOT NULL
)
SELECT j.id, j.key, j.title, j.status, j.status_at, j.status_by, j.status_by_id, j.version, j.epoch, j.question, j.last_error,
    (j.status = 'blocked' AND j.question <> '' AND j.answer = '')::boolean AS asks,
    (j.status = 'in_review' AND coalesce((
        SELECT (SELECT own.status NOT IN ('completed', 'failed', 'aborted', 'archived')
                AND NOT (own.status = 'ready' AND own.ready_at <= now() - interval '10 minutes')
            FROM job own WHERE own.workspace_id = m.workspace_id AND own.id = m.verify_job_id)
        FROM job_verify m WHERE m.workspace_id = j.workspace_id AND m.job_id = j.id AND m.epoch = j.epoch), false))::boolean AS verifying
FROM found f JOIN job j ON j.workspace_id = @workspace_id AND j.id = f.id
WHERE j.kind NOT IN ('merge', 'verify')
ORDER BY j.status_at, j.id;

-- name: NotificationBudgets :many
-- Budgets that are used up. The rule is that of BudgetNotices.
SELECT b.id, b.name, p.period_start FROM budget b
CROSS JOIN LATERAL (SELECT x.* FROM budget_period x WHERE x.workspace_id = b.workspace_id AND x.budget_id = b.id
    AND x.period_start <= now() AND x.period_end > now() OFFSET 0) p
WHERE b.workspace_id = @workspace_id AND b.removed_at IS NULL AND b.hard AND p.stopped_at IS NULL
    AND coalesce(p.limit_nanos - p.settled_nanos < b.slice_nanos OR p.limit_tokens - p.settled_tokens < b.slice_tokens
        OR p.limit_runs - p.runs < 1, false)
ORDER BY p.period_start DESC, b.id LIMIT @max_rows;

-- name: NotificationDeadAgents :many
-- Agents that died within a day and did not come back.
SELECT a.id, a.name, f.name AS factory, a.boot_id, a.last_heartbeat_at FROM agent a
JOIN factory f ON f.workspace_id = a.workspace_id AND f.id = a.factory_id
WHERE a.workspace_id = @workspace_id AND a.health_told = 'dead' AND a.terminated_at IS NULL
    AND a.last_heartbeat_at > now() - interval '1 day'
ORDER BY a.last_heartbeat_at DESC, a.id LIMIT @max_rows;

-- name: NotificationStops :many
-- What a person has stopped.
SELECT s.id, coalesce(p.name, '')::text AS product, s.reason, s.by_name, s.by_id, s.stopped_at FROM fleet_stop s
LEFT JOIN product p ON p.workspace_id = s.workspace_id AND p.id = s.product_id
WHERE s.workspace_id = @workspace_id AND s.released_at IS NULL ORDER BY s.stopped_at, s.id LIMIT @max_rows;

-- name: NotificationRows :many
-- What members are told of.
SELECT account_id, decision, kind, job_id, stamp, title, detail, path, opened_at, closed_at, outcome, escalate_at, escalated_from
FROM notification WHERE workspace_id = @workspace_id AND closed_at IS NULL ORDER BY account_id, decision;

-- name: NotificationSave :exec
INSERT INTO notification (workspace_id, account_id, decision, kind, job_id, stamp, title, detail, path, opened_at, closed_at,
    outcome, escalate_at, escalated_from)
SELECT @workspace_id, r.account_id, r.decision, r.kind, r.job_id, r.stamp, r.title, r.detail, r.path, r.opened_at, r.closed_at,
    r.outcome, r.escalate_at, r.escalated_from
FROM jsonb_to_recordset(@rows::jsonb) AS r(account_id uuid, decision text, kind text, job_id uuid, stamp text, title text,
    detail text, path text, opened_at timestamptz, closed_at timestamptz, outcome text, escalate_at timestamptz, escalated_from uuid)
ON CONFLICT (workspace_id, account_id, decision) DO UPDATE SET stamp = excluded.stamp, title = excluded.title, detail = excluded.detail,
    path = excluded.path, opened_at = excluded.opened_at, closed_at = excluded.closed_at, outcome = excluded.outcome,
    escalate_at = excluded.escalate_at, escalated_from = excluded.escalated_from;

-- name: NotificationDrop :exec
-- Forgets what members are not to be told of any more.
DELETE FROM notification n USING jsonb_to_recordset(@rows::jsonb) AS r(account_id uuid, decision text)
WHERE n.workspace_id = @workspace_id AND n.account_id = r.account_id AND n.decision = r.decision;

-- name: NotificationSweep :execrows
-- Forgets what was decided more than a day ago, and told.
DELETE FROM notification n WHERE n.workspace_id = @workspace_id AND n.closed_at < now() - interval '1 day'
    AND NOT EXISTS (SELECT FROM notification_delivery d WHERE d.workspace_id = n.workspace_id AND d.account_id = n.account_id
        AND d.decision = n.decision AND d.due_at IS NOT NULL);
