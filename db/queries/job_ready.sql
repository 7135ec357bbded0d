-- name: ReadyHeads :many
-- The most urgent job of each lane. A lane without one gives no row.
SELECT l.lane_id::bigint AS lane_id, h.priority, h.ready_at
FROM unnest(@lanes::bigint[]) AS l(lane_id)
CROSS JOIN LATERAL (
    SELECT r.priority, r.ready_at FROM job_ready r
    WHERE r.workspace_id = @workspace_id AND r.lane_id = l.lane_id
    ORDER BY r.priority DESC, r.ready_at, r.job_id LIMIT 1
) h;

-- name: ReadyLanesOfProduct :many
-- The lanes of a product that have a claimable job.
SELECT l.id FROM lane l WHERE l.workspace_id = @workspace_id AND l.product_id = @product_id
    AND EXISTS (SELECT 1 FROM job_ready r WHERE r.workspace_id = l.workspace_id AND r.lane_id = l.id)
ORDER BY l.id;

-- name: ReadyClaim :many
-- The claim: the most urgent jobs of one lane that nobody else is taking right
-- now, or one job by its id, each with epoch + 1, a lease, an attempt and an
-- event. ORDER BY is the index job_ready_claim; the CTEs are materialised so
-- that LIMIT holds; the job's status is checked again where it is changed.
-- Ids are handed on as arrays and the status is compared in a form that no
-- index serves: whatever the statistics say, rows are found by their ids.
WITH by_lane AS MATERIALIZED (
    SELECT r.job_id FROM job_ready r
    WHERE r.workspace_id = @workspace_id AND r.lane_id = @lane_id AND r.priority >= @min_priority
    ORDER BY r.priority DESC, r.ready_at, r.job_id LIMIT @max_rows FOR UPDATE SKIP LOCKED
), by_id AS MATERIALIZED (
    SELECT r.job_id FROM job_ready r
    WHERE r.workspace_id = @workspace_id AND r.job_id = @job_id AND r.lane_id = @lane_id FOR UPDATE SKIP LOCKED
), gone AS (
    DELETE FROM job_ready r
    WHERE r.workspace_id = @workspace_id
        AND r.job_id = ANY(ARRAY(SELECT p.job_id FROM by_lane p UNION ALL SELECT p.job_id FROM by_id p))
    RETURNING r.job_id
), taken AS (
    UPDATE job j SET status = 'assigned', status_by = @agent, status_at = now(), epoch = j.epoch + 1,
        attempts = j.attempts + 1, assigned_at = now(), started_at = NULL, ready_at = NULL,
        progress_percent = NULL, current_step = '', version = j.version + 1, updated_at = now()
    WHERE j.workspace_id = @workspace_id AND j.id = ANY(ARRAY(SELECT g.job_id FROM gone g))
        AND j.status IS NOT DISTINCT FROM 'ready'
    RETURNING j.id, j.epoch
), leased AS (
    INSERT INTO job_lease (workspace_id, job_id, epoch, agent_id, factory_id, session_key, request_id, ttl_seconds,
        expires_at)
    SELECT @workspace_id, t.id, t.epoch, @agent_id, @factory_id, @session_key, @request_id, @ttl_seconds::int,
        clock_timestamp() + make_interval(secs => @ttl_seconds::int)
    FROM taken t
), opened AS (
    INSERT INTO attempt (workspace_id, job_id, epoch, agent, factory, model, session_key)
    SELECT @workspace_id, t.id, t.epoch, @agent, @factory, @model, @session_key FROM taken t
), logged AS (
    INSERT INTO event (workspace_id, type, job_id, actor, actor_kind, epoch, changes, payload)
    SELECT @workspace_id, 'job.claimed', t.id, @agent, 'agent', t.epoch,
        '[{"field": "status", "old": "ready", "new": "assigned"}]',
        jsonb_build_object('factory', @factory::text, 'ttl_seconds', @ttl_seconds::int) FROM taken t
)
SELECT t.id, t.epoch FROM taken t;
