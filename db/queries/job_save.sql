-- name: JobsSave :many
-- Writes what decisions changed, each a JSON object: the job's state, its row in
-- job_ready and the event, or nothing of one whose status or epoch are no longer
-- those decided on. A slot that is not the job's any more is given up. The ids are
-- handed on as an array once more, and the status is compared in a form that no
-- index serves: whatever the statistics say, rows are found by their ids.
WITH d AS MATERIALIZED (
    SELECT
        (r.r ->> 'id')::uuid AS id, r.r ->> 'from_status' AS from_status,
        (r.r ->> 'from_epoch')::bigint AS from_epoch, r.r ->> 'title' AS title, r.r ->> 'phase' AS phase,
        (r.r ->> 'priority')::smallint AS priority, r.r ->> 'factory' AS factory, r.r ->> 'repo' AS repo,
        (r.r ->> 'product_id')::uuid AS product_id, (r.r ->> 'lane_id')::bigint AS lane_id,
        r.r ->> 'estimated_complexity' AS estimated_complexity,
        (r.r ->> 'estimated_minutes')::int AS estimated_minutes, (r.r ->> 'token_budget')::bigint AS token_budget,
        (r.r ->> 'budget_nanos')::bigint AS budget_nanos, (r.r ->> 'complexity')::smallint AS complexity, r.r ->> 'tier' AS tier,
        r.r ->> 'status' AS status,
        r.r ->> 'wait_reason' AS wait_reason, r.r ->> 'blocked_reason' AS blocked_reason,
        r.r ->> 'question' AS question, r.r ->> 'answer' AS answer,
        (r.r ->> 'waits_for_children')::boolean AS waits_for_children, (r.r ->> 'attempts')::int AS attempts,
        (r.r ->> 'failure_count')::int AS failure_count, (r.r ->> 'lost_count')::int AS lost_count,
        r.r ->> 'last_error' AS last_error, r.r ->> 'feedback' AS feedback,
        (r.r ->> 'progress_percent')::smallint AS progress_percent, r.r ->> 'current_step' AS current_step,
        (r.r ->> 'not_before')::timestamptz AS not_before, r.r ->> 'actor' AS actor,
        r.r ->> 'actor_kind' AS actor_kind, r.r ->> 'actor_id' AS actor_id, r.r ->> 'event_type' AS event_type,
        ARRAY(SELECT jsonb_array_elements_text(r.r -> 'tags')) AS tags,
        ARRAY(SELECT jsonb_array_elements_text(r.r -> 'capabilities')) AS capabilities,
        nullif(r.r -> 'checkpoint', 'null') AS checkpoint, nullif(r.r -> 'result', 'null') AS result,
        ARRAY(SELECT jsonb_array_elements_text(r.r -> 'files')) AS files,
        ARRAY(SELECT jsonb_array_elements_text(r.r -> 'files_touched')) AS files_touched,
        r.r ->> 'failure_kind' AS failure_kind, r.r ->> 'approved_head' AS approved_head,
        r.r ->> 'merged_commit' AS merged_commit, r.r ->> 'url' AS url,
        r.r -> 'changes' AS changes, r.r -> 'payload' AS payload,
        nullif(r.r -> 'carried_out_by', 'null') AS carried_out_by, r.r -> 'contents' AS contents,
        (r.r ->> 'unranked')::boolean AS unranked
    FROM (SELECT jsonb_array_elements(@decisions::jsonb) AS r) r
), saved AS (
    UPDATE job SET
        title = d.title, phase = d.phase, priority = d.priority, tags = d.tags,
        capabilities = d.capabilities, factory = d.factory, repo = d.repo, product_id = d.product_id, lane_id = d.lane_id,
        estimated_complexity = d.estimated_complexity, estimated_minutes = d.estimated_minutes,
        token_budget = d.token_budget, budget_nanos = d.budget_nanos, complexity = d.complexity, tier = d.tier,
        status = d.status, wait_reason = d.wait_reason, blocked_reason = d.blocked_reason,
        question = d.question, answer = d.answer, waits_for_children = d.waits_for_children,
        status_by = CASE WHEN job.status = d.status THEN job.status_by ELSE d.actor END,
        status_by_kind = CASE WHEN job.status = d.status THEN job.status_by_kind ELSE d.actor_kind END,
        status_by_id = CASE WHEN job.status = d.status THEN job.status_by_id ELSE d.actor_id END,
        carried_out_by = CASE WHEN job.status = d.status THEN job.carried_out_by ELSE d.carried_out_by END,
        status_at = CASE WHEN job.status = d.status THEN job.status_at ELSE now() END,
        attempts = d.attempts, failure_count = d.failure_count, lost_count = d.lost_count,
        last_error = d.last_error, feedback = d.feedback,
        progress_percent = d.progress_percent, current_step = d.current_step,
        checkpoint = d.checkpoint, result = d.result,
        files = d.files, files_touched = d.files_touched, failure_kind = d.failure_kind,
        approved_head = d.approved_head, merged_commit = d.merged_commit, url = d.url,
        not_before = d.not_before,
        ready_at = CASE WHEN d.status <> 'ready' THEN NULL WHEN job.status = 'ready' THEN job.ready_at ELSE now() END,
        started_at = CASE WHEN d.status = 'running' AND job.status <> 'running' THEN now() ELSE job.started_at END,
        completed_at = CASE WHEN d.status = 'completed' THEN coalesce(job.completed_at, now())
            WHEN d.status = 'archived' THEN job.completed_at END,
        failed_at = CASE WHEN d.status IN ('failed', 'aborted') THEN coalesce(job.failed_at, now())
            WHEN d.status = 'archived' THEN job.failed_at END,
        version = job.version + 1,
        updated_at = now()
    FROM d
    WHERE job.workspace_id = @workspace_id AND job.id = ANY(@ids::uuid[]) AND job.id = d.id
        AND job.status IS NOT DISTINCT FROM d.from_status AND job.epoch = d.from_epoch
    RETURNING job.workspace_id, job.id, job.lane_id, job.repo, job.priority, job.status, job.ready_at, job.epoch, job.version,
        job.status_at, job.updated_at, job.started_at, job.completed_at, job.failed_at,
        job.estimated_minutes,
        d.actor, d.actor_kind, d.actor_id, d.event_type, d.changes, d.payload, d.unranked
), unranked AS (
    DELETE FROM job_rank k WHERE k.workspace_id = @workspace_id AND k.job_id = ANY(ARRAY(SELECT s.id FROM saved s WHERE s.unranked))
), unreadied AS (
    DELETE FROM job_ready r
    WHERE r.workspace_id = @workspace_id AND r.job_id = ANY(ARRAY(SELECT s.id FROM saved s WHERE s.status <> 'ready'))
), readied AS (
    INSERT INTO job_ready AS q (workspace_id, lane_id, priority, ready_at, place, delay_minutes, rank, job_id)
    SELECT s.workspace_id, s.lane_id, s.priority, s.ready_at, coalesce(k.place, s.ready_at + make_interval(mins => s.delay)),
        CASE WHEN k.rank IS NULL THEN s.delay ELSE 0 END, k.rank, s.id
    FROM (SELECT n.*, estimate_delay((SELECT t.short_jobs_first FROM dispatch_setting t WHERE t.workspace_id = @workspace_id),
        n.estimated_minutes) AS delay FROM saved n) s LEFT JOIN LATERAL (SELECT o.place, o.rank FROM job_rank o
        WHERE o.workspace_id = @workspace_id AND o.job_id = s.id AND NOT s.unranked OFFSET 0) k ON true
    WHERE s.status = 'ready'
    ON CONFLICT (workspace_id, job_id) DO UPDATE SET lane_id = excluded.lane_id, ready_at = excluded.ready_at, rank = excluded.rank,
        priority = least(excluded.priority + CASE WHEN q.rank IS NOT DISTINCT FROM excluded.rank THEN q.raised ELSE 0 END, 10),
        raised = CASE WHEN q.rank IS NOT DISTINCT FROM excluded.rank THEN q.raised ELSE 0 END,
        delay_minutes = excluded.delay_minutes, place = CASE WHEN q.rank IS NOT DISTINCT FROM excluded.rank
            THEN q.place + make_interval(mins => excluded.delay_minutes - q.delay_minutes) ELSE excluded.place END
), unslotted AS (
    DELETE FROM repo_slot o
    WHERE o.workspace_id = @workspace_id AND o.job_id = ANY(ARRAY(SELECT s.id FROM saved s))
        AND (o.job_id, o.repo) <> ALL(SELECT s.id, s.repo FROM saved s WHERE s.status IN ('ready', 'assigned', 'running'))
), logged AS (
    INSERT INTO event (workspace_id, type, job_id, actor, actor_kind, actor_id, epoch, saved_at, changes, payload)
    SELECT workspace_id, event_type, id, actor, actor_kind, actor_id, nullif(epoch, 0), now(), changes, payload FROM saved
    RETURNING id, job_id
), told AS MATERIALIZED (
    SELECT d.id AS job_id, decode(c.c ->> 'sha256', 'hex') AS sha256, c.c ->> 'body' AS body
    FROM d, jsonb_array_elements(d.contents) AS c(c)
), kept AS (
    INSERT INTO content (workspace_id, sha256, body) SELECT @workspace_id, t.sha256, t.body FROM told t ORDER BY t.sha256
    ON CONFLICT (workspace_id, sha256) DO NOTHING
), referred AS (
    INSERT INTO event_content (workspace_id, event_id, sha256)
    SELECT DISTINCT @workspace_id::uuid, l.id, t.sha256 FROM told t JOIN logged l ON l.job_id = t.job_id
)
SELECT id, version, status_at, updated_at, ready_at, started_at, completed_at, failed_at FROM saved;
