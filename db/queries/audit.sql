-- name: AuditWorkspaces :many
SELECT id, slug FROM workspace ORDER BY id;

-- name: AuditJobs :many
-- A page of jobs by id, each with all that has to agree with it, as one moment
-- saw it.
SELECT j.id, j.key, j.status, j.wait_reason, j.epoch, j.attempts, j.lane_id, j.priority, j.ready_at, j.repo,
    r.lane_id AS queued_lane, r.priority AS queued_priority, r.ready_at AS queued_at, r.place AS queued_place, r.raised AS queued_raised,
    r.delay_minutes AS queued_delay, r.rank AS queued_rank, k.place AS ranked_place, k.rank,
    l.epoch AS lease_epoch,
    s.repo AS slot_repo,
    a.count AS attempt_count, a.lowest AS attempt_lowest, a.highest AS attempt_highest, a.open AS attempts_open,
    a.open_epoch AS attempt_open_epoch
FROM (SELECT * FROM job p WHERE p.workspace_id = @workspace_id AND p.id > @after ORDER BY p.id LIMIT @max_rows) j
LEFT JOIN job_ready r ON r.workspace_id = j.workspace_id AND r.job_id = j.id
LEFT JOIN job_rank k ON k.workspace_id = j.workspace_id AND k.job_id = j.id
LEFT JOIN job_lease l ON l.workspace_id = j.workspace_id AND l.job_id = j.id
LEFT JOIN repo_slot s ON s.workspace_id = j.workspace_id AND s.job_id = j.id
CROSS JOIN LATERAL (
    SELECT count(*) AS count, coalesce(min(t.epoch), 0)::bigint AS lowest, coalesce(max(t.epoch), 0)::bigint AS highest,
        count(*) FILTER (WHERE t.ended_at IS NULL) AS open,
        coalesce(max(t.epoch) FILTER (WHERE t.ended_at IS NULL), 0)::bigint AS open_epoch
    FROM attempt t WHERE t.workspace_id = j.workspace_id AND t.job_id = j.id
) a
ORDER BY j.id;

-- name: AuditHistories :many
-- A page of jobs by id, or one of them, each as everybody reads it, and with its
-- events oldest first, as one moment saw them. A job's changes are made one after
-- another under its lock, so the ids of its events follow their order. What a lease
-- knows of the work stands for what the job does. Both are JSON as text: whole pages
-- are read, and jsonb would be built and taken apart for nothing.
SELECT s.id, s.key, s.lease_epoch, to_json(s)::text AS state,
    coalesce((SELECT json_agg(json_build_object('id', e.id, 'type', e.type, 'actor', e.actor, 'actor_kind', e.actor_kind,
        'actor_id', e.actor_id, 'epoch', e.epoch, 'at', e.at, 'saved_at', e.saved_at,
        'payload', json_build_object('carried_out_by', e.payload -> 'carried_out_by'), 'changes', e.changes) ORDER BY e.id)
        FROM event e WHERE e.workspace_id = s.workspace_id AND e.job_id = s.id), '[]')::text AS events
FROM (
    SELECT j.workspace_id, j.id, coalesce(l.epoch, 0)::bigint AS lease_epoch,
        j.status, j.wait_reason, j.blocked_reason, j.question, j.answer, j.waits_for_children, j.key, j.title, j.kind, j.phase, j.priority,
        j.factory, j.repo, p.name AS product, j.estimated_complexity, j.estimated_minutes, j.token_budget, j.budget_nanos, j.complexity, j.tier, j.capabilities, j.tags,
        j.review_required, j.max_retries, j.max_lost, j.retry_backoff_seconds, coalesce(j.idempotency_key, '') AS idempotency_key,
        j.files, j.files_touched, j.approved_head, j.merged_commit, j.url, j.failure_kind, j.failure_count, j.lost_count, j.last_error,
        j.feedback, CASE WHEN l.job_id IS NULL THEN j.progress_percent ELSE l.progress_percent END AS progress_percent,
        coalesce(l.current_step, j.current_step) AS current_step, coalesce(l.checkpoint, j.checkpoint) AS checkpoint, j.result,
        j.not_before, j.status_by, j.status_by_kind, j.status_by_id, j.carried_out_by, j.status_at, j.version, j.created_by,
        j.created_at, j.updated_at, j.ready_at, j.assigned_at, j.started_at, j.completed_at, j.failed_at, j.epoch, j.attempts,
        t.body, t.acceptance, t.acceptance_met, t.input_context, t.secret_keys,
        rtrim(lp.name || '/' || n.factory || ' ' || array_to_string(n.needs, ' ')) AS lane
    FROM (SELECT * FROM job o WHERE o.workspace_id = @workspace_id AND o.id > @after
        AND (sqlc.narg('only')::uuid IS NULL OR o.id = sqlc.narg('only')::uuid) ORDER BY o.id LIMIT @max_rows) j
    LEFT JOIN product p ON p.workspace_id = j.workspace_id AND p.id = j.product_id
    LEFT JOIN job_text t ON t.workspace_id = j.workspace_id AND t.job_id = j.id
    LEFT JOIN job_rank k ON k.workspace_id = j.workspace_id AND k.job_id = j.id
LEFT JOIN job_lease l ON l.workspace_id = j.workspace_id AND l.job_id = j.id
    LEFT JOIN lane n ON n.workspace_id = j.workspace_id AND n.id = j.lane_id
    LEFT JOIN product lp ON lp.workspace_id = n.workspace_id AND lp.id = n.product_id
) s
ORDER BY s.id;

-- name: AuditCounts :many
-- Where the counts of a workspace's jobs are not what there is, as one moment saw it.
SELECT coalesce(p.name, 'a product that is gone')::text AS product, c.status::text AS status, sum(c.counted)::bigint AS counted,
    sum(c.present)::bigint AS present
FROM (
    SELECT s.product_id, s.status, s.jobs AS counted, 0 AS present FROM job_count s WHERE s.workspace_id = @workspace_id
    UNION ALL
    SELECT n.product_id, n.status, n.jobs, 0 FROM job_count_change n WHERE n.workspace_id = @workspace_id
    UNION ALL
    SELECT j.product_id, j.status, 0, count(*) FROM job j WHERE j.workspace_id = @workspace_id GROUP BY j.product_id, j.status
) c LEFT JOIN product p ON p.workspace_id = @workspace_id AND p.id = c.product_id
GROUP BY p.name, c.status HAVING sum(c.counted) <> sum(c.present) ORDER BY product, c.status;

-- name: AuditStray :many
-- Rows that belong to a job, an agent or a factory which is not there: of the jobs
-- whose ids are between two.
SELECT s.about::text AS about, s.job_id FROM (
    SELECT 'a ready row' AS about, r.job_id FROM job_ready r
    WHERE r.workspace_id = @workspace_id AND r.job_id > @after AND r.job_id <= @last
    UNION ALL
    SELECT 'a lease', l.job_id FROM job_lease l
    WHERE l.workspace_id = @workspace_id AND l.job_id > @after AND l.job_id <= @last
    UNION ALL
    SELECT 'an attempt', a.job_id FROM attempt a
    WHERE a.workspace_id = @workspace_id AND a.job_id > @after AND a.job_id <= @last
    UNION ALL
    SELECT 'a text', t.job_id FROM job_text t
    WHERE t.workspace_id = @workspace_id AND t.job_id > @after AND t.job_id <= @last
) s WHERE NOT EXISTS (SELECT FROM job j WHERE j.workspace_id = @workspace_id AND j.id = s.job_id)
UNION ALL
SELECT 'a lease of an agent or a factory that is not there', l.job_id FROM job_lease l
WHERE l.workspace_id = @workspace_id AND l.job_id > @after AND l.job_id <= @last AND NOT (
    EXISTS (SELECT FROM agent a WHERE a.workspace_id = @workspace_id AND a.id = l.agent_id)
    AND EXISTS (SELECT FROM factory f WHERE f.workspace_id = @workspace_id AND f.id = l.factory_id))
ORDER BY about, job_id;

-- name: JobRepair :one
-- Makes a locked job what a state tells, with its row in job_ready and what its lease
-- knows of the work, and records that. The values that were found are the payload.
WITH repaired AS (
    UPDATE job SET key = @state::jsonb ->> 'key', title = @state::jsonb ->> 'title', kind = @state::jsonb ->> 'kind',
        product_id = @product_id, repo = @state::jsonb ->> 'repo', phase = @state::jsonb ->> 'phase',
        priority = (@state::jsonb ->> 'priority')::smallint,
        capabilities = ARRAY(SELECT jsonb_array_elements_text(@state::jsonb -> 'capabilities')), factory = @state::jsonb ->> 'factory',
        lane_id = @lane_id, tags = ARRAY(SELECT jsonb_array_elements_text(@state::jsonb -> 'tags')), status = @state::jsonb ->> 'status',
        wait_reason = @state::jsonb ->> 'wait_reason', blocked_reason = @state::jsonb ->> 'blocked_reason',
        question = @state::jsonb ->> 'question', answer = @state::jsonb ->> 'answer', status_by = @state::jsonb ->> 'status_by', status_by_kind = @state::jsonb ->> 'status_by_kind', status_by_id = @state::jsonb ->> 'status_by_id',
        carried_out_by = nullif(@state::jsonb -> 'carried_out_by', 'null'),
        status_at = (@state::jsonb ->> 'status_at')::timestamptz, epoch = (@state::jsonb ->> 'epoch')::bigint,
        attempts = (@state::jsonb ->> 'attempts')::int, failure_count = (@state::jsonb ->> 'failure_count')::int,
        lost_count = (@state::jsonb ->> 'lost_count')::int, max_retries = (@state::jsonb ->> 'max_retries')::int,
        max_lost = (@state::jsonb ->> 'max_lost')::int, retry_backoff_seconds = (@state::jsonb ->> 'retry_backoff_seconds')::int,
        last_error = @state::jsonb ->> 'last_error', feedback = @state::jsonb ->> 'feedback',
        progress_percent = (@state::jsonb ->> 'progress_percent')::smallint, current_step = @state::jsonb ->> 'current_step',
        checkpoint = nullif(@state::jsonb -> 'checkpoint', 'null'), result = nullif(@state::jsonb -> 'result', 'null'),
        review_required = (@state::jsonb ->> 'review_required')::boolean, estimated_complexity = @state::jsonb ->> 'estimated_complexity',
        estimated_minutes = (@state::jsonb ->> 'estimated_minutes')::int, token_budget = (@state::jsonb ->> 'token_budget')::bigint,
        budget_nanos = (@state::jsonb ->> 'budget_nanos')::bigint, complexity = (@state::jsonb ->> 'complexity')::smallint,
        tier = coalesce(@state::jsonb ->> 'tier', ''),
        not_before = (@state::jsonb ->> 'not_before')::timestamptz, idempotency_key = nullif(@state::jsonb ->> 'idempotency_key', ''),
        version = (@state::jsonb ->> 'version')::int + 1, created_by = @state::jsonb ->> 'created_by',
        created_at = (@state::jsonb ->> 'created_at')::timestamptz, updated_at = now(),
        ready_at = (@state::jsonb ->> 'ready_at')::timestamptz, assigned_at = (@state::jsonb ->> 'assigned_at')::timestamptz,
        started_at = (@state::jsonb ->> 'started_at')::timestamptz, completed_at = (@state::jsonb ->> 'completed_at')::timestamptz,
        failed_at = (@state::jsonb ->> 'failed_at')::timestamptz, waits_for_children = (@state::jsonb ->> 'waits_for_children')::boolean,
        files = ARRAY(SELECT jsonb_array_elements_text(@state::jsonb -> 'files')),
        files_touched = ARRAY(SELECT jsonb_array_elements_text(@state::jsonb -> 'files_touched')),
        failure_kind = @state::jsonb ->> 'failure_kind', approved_head = @state::jsonb ->> 'approved_head',
        merged_commit = @state::jsonb ->> 'merged_commit', url = @state::jsonb ->> 'url'
    WHERE job.workspace_id = @workspace_id AND job.id = @id
    RETURNING job.id, job.status, job.lane_id, job.priority, job.ready_at, job.epoch, estimate_delay((SELECT d.short_jobs_first
        FROM dispatch_setting d WHERE d.workspace_id = @workspace_id), job.estimated_minutes) AS delay
), written AS (
    INSERT INTO job_text (workspace_id, job_id, body, acceptance, acceptance_met, input_context, secret_keys)
    SELECT @workspace_id, r.id, @state::jsonb ->> 'body', @state::jsonb -> 'acceptance', @state::jsonb -> 'acceptance_met',
        coalesce(nullif(@state::jsonb -> 'input_context', 'null'), '{}'),
        ARRAY(SELECT jsonb_array_elements_text(@state::jsonb -> 'secret_keys')) FROM repaired r
    ON CONFLICT (workspace_id, job_id) DO UPDATE SET body = excluded.body, acceptance = excluded.acceptance,
        acceptance_met = excluded.acceptance_met, input_context = excluded.input_context, secret_keys = excluded.secret_keys
), worked AS (
    UPDATE job_lease l SET progress_percent = (@state::jsonb ->> 'progress_percent')::smallint, current_step = @state::jsonb ->> 'current_step',
        checkpoint = nullif(@state::jsonb -> 'checkpoint', 'null')
    WHERE l.workspace_id = @workspace_id AND l.job_id = ANY(ARRAY(SELECT r.id FROM repaired r))
), unreadied AS (
    DELETE FROM job_ready q WHERE q.workspace_id = @workspace_id AND q.job_id = ANY(ARRAY(SELECT r.id FROM repaired r WHERE r.status <> 'ready'))
), readied AS (
    INSERT INTO job_ready (workspace_id, lane_id, priority, ready_at, place, delay_minutes, rank, job_id)
    SELECT @workspace_id, r.lane_id, r.priority, r.ready_at, coalesce(k.place, r.ready_at + make_interval(mins => r.delay)),
        CASE WHEN k.rank IS NULL THEN r.delay ELSE 0 END, k.rank, r.id
    FROM repaired r LEFT JOIN job_rank k ON k.workspace_id = @workspace_id AND k.job_id = r.id WHERE r.status = 'ready'
    ON CONFLICT (workspace_id, job_id) DO UPDATE SET lane_id = excluded.lane_id, priority = excluded.priority,
        ready_at = excluded.ready_at, place = excluded.place, delay_minutes = excluded.delay_minutes, rank = excluded.rank, raised = 0
)
INSERT INTO event (workspace_id, type, job_id, actor, actor_kind, actor_id, epoch, saved_at, changes, payload)
SELECT @workspace_id, 'job.repaired', r.id, @actor, 'system', @actor, nullif(r.epoch, 0), now(), '[]', @found::jsonb FROM repaired r
RETURNING id;

-- name: AuditBudgetSums :many
-- Periods of budgets whose sums are not those of their ledger, as one moment saw them: by
-- how much each sum is larger.
SELECT p.budget_id, b.name, p.period_start, (coalesce(p.limit_nanos, 0) - coalesce(s.limit_nanos, 0))::bigint AS limit_nanos,
    (coalesce(p.limit_tokens, 0) - coalesce(s.limit_tokens, 0))::bigint AS limit_tokens, (coalesce(p.limit_runs, 0) - coalesce(s.limit_runs, 0))::bigint AS limit_runs,
    (p.settled_nanos - coalesce(s.settled_nanos, 0))::bigint AS settled_nanos, (p.settled_tokens - coalesce(s.settled_tokens, 0))::bigint AS settled_tokens,
    (p.reserved_nanos - coalesce(s.reserved_nanos, 0))::bigint AS reserved_nanos, (p.reserved_tokens - coalesce(s.reserved_tokens, 0))::bigint AS reserved_tokens,
    (p.runs - coalesce(s.runs, 0))::bigint AS runs
FROM budget_period p JOIN budget b ON b.workspace_id = p.workspace_id AND b.id = p.budget_id
LEFT JOIN (
    SELECT l.budget_id, l.period_start,
        sum(CASE 'outside' WHEN l.from_account THEN l.nanos WHEN l.to_account THEN -l.nanos ELSE 0 END) AS limit_nanos,
        sum(CASE 'outside' WHEN l.from_account THEN l.tokens WHEN l.to_account THEN -l.tokens ELSE 0 END) AS limit_tokens,
        sum(CASE 'outside' WHEN l.from_account THEN l.runs WHEN l.to_account THEN -l.runs ELSE 0 END) AS limit_runs,
        sum(CASE 'settled' WHEN l.to_account THEN l.nanos WHEN l.from_account THEN -l.nanos ELSE 0 END) AS settled_nanos,
        sum(CASE 'settled' WHEN l.to_account THEN l.tokens WHEN l.from_account THEN -l.tokens ELSE 0 END) AS settled_tokens,
        sum(CASE 'settled' WHEN l.to_account THEN l.runs WHEN l.from_account THEN -l.runs ELSE 0 END) AS runs,
        sum(CASE 'reserved' WHEN l.to_account THEN l.nanos WHEN l.from_account THEN -l.nanos ELSE 0 END) AS reserved_nanos,
        sum(CASE 'reserved' WHEN l.to_account THEN l.tokens WHEN l.from_account THEN -l.tokens ELSE 0 END) AS reserved_tokens
    FROM budget_ledger l WHERE l.workspace_id = @workspace_id GROUP BY l.budget_id, l.period_start
) s ON s.budget_id = p.budget_id AND s.period_start = p.period_start
WHERE p.workspace_id = @workspace_id AND (s.budget_id IS NULL
    OR coalesce(p.limit_nanos, 0) <> s.limit_nanos OR coalesce(p.limit_tokens, 0) <> s.limit_tokens OR coalesce(p.limit_runs, 0) <> s.limit_runs
    OR p.settled_nanos <> s.settled_nanos OR p.settled_tokens <> s.settled_tokens OR p.reserved_nanos <> s.reserved_nanos
    OR p.reserved_tokens <> s.reserved_tokens OR p.runs <> s.runs)
ORDER BY b.name, p.period_start;

-- name: AuditBudgetReserved :many
-- Periods of budgets that have reserved something else than leases hold of them.
SELECT p.budget_id, b.name, p.period_start, p.reserved_nanos, p.reserved_tokens, coalesce(sum(r.held_nanos), 0)::bigint AS held_nanos,
    coalesce(sum(r.held_tokens), 0)::bigint AS held_tokens
FROM budget_period p JOIN budget b ON b.workspace_id = p.workspace_id AND b.id = p.budget_id
LEFT JOIN budget_reservation r ON r.workspace_id = p.workspace_id AND r.budget_id = p.budget_id AND r.period_start = p.period_start
WHERE p.workspace_id = @workspace_id
GROUP BY p.budget_id, p.period_start, b.name, p.reserved_nanos, p.reserved_tokens
HAVING p.reserved_nanos <> coalesce(sum(r.held_nanos), 0) OR p.reserved_tokens <> coalesce(sum(r.held_tokens), 0)
ORDER BY b.name, p.period_start;

-- name: AuditBudgetLeft :many
-- What is held of budgets for leases that have ended, or of periods that are not there.
SELECT r.budget_id, b.name, r.job_id, r.epoch, r.period_start, (p.budget_id IS NULL)::boolean AS no_period
FROM budget_reservation r JOIN budget b ON b.workspace_id = r.workspace_id AND b.id = r.budget_id
LEFT JOIN budget_period p ON p.workspace_id = r.workspace_id AND p.budget_id = r.budget_id AND p.period_start = r.period_start
WHERE r.workspace_id = @workspace_id AND (p.budget_id IS NULL OR NOT EXISTS (
    SELECT FROM job_lease l WHERE l.workspace_id = r.workspace_id AND l.job_id = r.job_id AND l.epoch = r.epoch))
ORDER BY b.name, r.job_id, r.epoch;
