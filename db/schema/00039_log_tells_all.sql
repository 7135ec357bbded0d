-- +goose Up

-- What an event tells of its job: its changes, and before them what follows from
-- its having been written along with the job's row. jobs.Replay knows the same rules.
-- +goose StatementBegin
CREATE FUNCTION event_told(e public.event) RETURNS TABLE (n bigint, change jsonb)
    LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS
$$
    WITH status AS (
        SELECT c ->> 'new' AS new, coalesce(c ->> 'old', '') AS old FROM jsonb_array_elements(e.changes) c WHERE c ->> 'field' = 'status'
    ), implied AS (
        SELECT 'updated_at' AS field, to_jsonb(e.saved_at) AS new
        UNION ALL SELECT v.field, v.new FROM (VALUES ('created_at', to_jsonb(e.saved_at)), ('created_by', to_jsonb(e.actor))) v(field, new)
            WHERE e.type = 'job.created'
        UNION ALL SELECT v.field, v.new FROM status s, LATERAL (VALUES
            ('status_at', to_jsonb(e.saved_at), true), ('status_by', to_jsonb(e.actor), true),
            ('status_by_kind', to_jsonb(e.actor_kind), true), ('status_by_id', to_jsonb(e)->'actor_id', true),
            ('carried_out_by', coalesce(e.payload->'carried_out_by', 'null'), true),
            ('ready_at', CASE WHEN s.new = 'ready' THEN to_jsonb(e.saved_at) ELSE 'null' END, true),
            ('assigned_at', to_jsonb(e.saved_at), s.new = 'assigned'), ('started_at', 'null', s.new = 'assigned'),
            ('progress_percent', 'null', s.new = 'assigned'), ('current_step', '""', s.new = 'assigned'),
            ('started_at', to_jsonb(e.saved_at), s.new = 'running'),
            ('completed_at', to_jsonb(e.saved_at), s.new = 'completed' AND s.old <> 'completed'),
            ('completed_at', 'null', s.new NOT IN ('completed', 'archived')),
            ('failed_at', to_jsonb(e.saved_at), s.new IN ('failed', 'aborted') AND s.old NOT IN ('failed', 'aborted')),
            ('failed_at', 'null', s.new NOT IN ('failed', 'aborted', 'archived'))) v(field, new, holds)
            WHERE v.holds AND s.new <> s.old
    )
    SELECT 0, jsonb_build_object('field', i.field, 'old', NULL, 'new', i.new) FROM implied i WHERE e.saved_at IS NOT NULL
    UNION ALL
    SELECT c.n, c.change FROM jsonb_array_elements(e.changes) WITH ORDINALITY AS c(change, n)
$$;
-- +goose StatementEnd
REVOKE ALL ON FUNCTION event_told(public.event) FROM PUBLIC;

-- As before (ADR 0016), and what is told at length is kept as far as the sum tells it.
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION compact_job_events(workspace uuid, job uuid) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS
$$
DECLARE
    cutoff constant timestamptz := now() - interval '90 days';
    last   bigint;
    folded integer;
    old    public.event;
    told_at bigint;
    version bigint;
BEGIN
    IF workspace IS DISTINCT FROM nullif(current_setting('app.workspace_id', true), '')::uuid THEN
        RAISE insufficient_privilege USING MESSAGE = 'this transaction is of another workspace';
    END IF;
    -- Two at once would both write the sum.
    PERFORM pg_advisory_xact_lock(hashtextextended('compact_job_events', 0) # hashtextextended(job::text, 0));

    SELECT max(e.id), count(*) INTO last, folded FROM (
        SELECT o.id FROM public.event o
        WHERE o.workspace_id = workspace AND o.job_id = job AND o.id < coalesce(
            (SELECT y.id FROM public.event y
                WHERE y.workspace_id = workspace AND y.job_id = job AND y.at >= cutoff ORDER BY y.id LIMIT 1),
            9223372036854775807)
        ORDER BY o.id LIMIT 5000
    ) e;
    IF folded <= 50 THEN
        RETURN 0;
    END IF;

    SELECT * INTO old FROM public.event WHERE workspace_id = workspace AND id = last;
    old.type := 'job.compacted';
    old.actor := 'compaction';
    old.actor_kind := 'system';
    old.actor_id := 'compaction';
    old.saved_at := NULL;
    SELECT max(e.epoch), jsonb_build_object('epoch', coalesce(max(e.epoch), 0), 'to', old.at,
        'from', min(CASE e.type WHEN 'job.compacted' THEN (e.payload->>'from')::timestamptz ELSE e.at END),
        'events', sum(CASE e.type WHEN 'job.compacted' THEN (e.payload->>'events')::bigint ELSE 1 END))
    INTO old.epoch, old.payload
    FROM public.event e WHERE e.workspace_id = workspace AND e.job_id = job AND e.id <= last;
    -- What was folded before is counted by what it was.
    old.payload := old.payload || (SELECT jsonb_build_object('types', jsonb_object_agg(t.type, t.n)) FROM (
        SELECT n.key AS type, sum(n.value::bigint) AS n
        FROM public.event e, jsonb_each_text(
            CASE e.type WHEN 'job.compacted' THEN e.payload->'types' ELSE jsonb_build_object(e.type, 1) END) n
        WHERE e.workspace_id = workspace AND e.job_id = job AND e.id <= last GROUP BY n.key) t);
    -- Of each field its first old value and its last new one.
    SELECT coalesce(jsonb_agg(jsonb_strip_nulls(jsonb_build_object('field', f.field, 'old_sha256', f.first->'old_sha256',
            'new_sha256', f.last->'new_sha256')) || jsonb_build_object('old', f.first->'old', 'new', f.last->'new')
            ORDER BY f.at, f.n), '[]')
    INTO old.changes FROM (
        SELECT c.change->>'field' AS field, min(e.id) AS at, (array_agg(c.n ORDER BY e.id, c.n))[1] AS n,
            (array_agg(c.change ORDER BY e.id, c.n))[1] AS first,
            (array_agg(c.change ORDER BY e.id DESC, c.n DESC))[1] AS last
        FROM public.event e, public.event_told(e) c
        WHERE e.workspace_id = workspace AND e.job_id = job AND e.id <= last AND c.change->>'field' <> 'version'
        GROUP BY c.change->>'field') f;
    -- The version rises with each event that was written along with the row.
    SELECT e.id, (c->>'new')::bigint INTO told_at, version FROM public.event e, jsonb_array_elements(e.changes) c
    WHERE e.workspace_id = workspace AND e.job_id = job AND e.id <= last AND c->>'field' = 'version' ORDER BY e.id DESC LIMIT 1;
    version := coalesce(version, 0) + (SELECT count(*) FROM public.event e WHERE e.workspace_id = workspace AND e.job_id = job
        AND e.id > coalesce(told_at, 0) AND e.id <= last AND e.saved_at IS NOT NULL);
    IF version > 0 THEN
        old.changes := old.changes || jsonb_build_array(jsonb_build_object('field', 'version', 'old', NULL, 'new', version));
    END IF;

    PERFORM public.release_contents(workspace, job, last);
    DELETE FROM public.event e WHERE e.workspace_id = workspace AND e.job_id = job AND e.id <= last;
    INSERT INTO public.event OVERRIDING SYSTEM VALUE SELECT old.*;
    INSERT INTO public.event_content (workspace_id, event_id, sha256)
    SELECT DISTINCT workspace, last, decode(v.sum, 'hex') FROM jsonb_array_elements(old.changes) c,
        LATERAL (VALUES (c->>'old_sha256'), (c->>'new_sha256')) v(sum) WHERE v.sum IS NOT NULL;
    RETURN folded;
END
$$;
-- +goose StatementEnd

-- Of jobs that are there already the log is told what it did not know.
ALTER TABLE job NO FORCE ROW LEVEL SECURITY;
ALTER TABLE job_text NO FORCE ROW LEVEL SECURITY;
ALTER TABLE job_lease NO FORCE ROW LEVEL SECURITY;
ALTER TABLE event NO FORCE ROW LEVEL SECURITY;
ALTER TABLE content NO FORCE ROW LEVEL SECURITY;
ALTER TABLE event_content NO FORCE ROW LEVEL SECURITY;
-- +goose StatementBegin
CREATE FUNCTION pg_temp.untold(j job) RETURNS jsonb LANGUAGE sql AS
$$
    SELECT jsonb_build_object('key', j.key, 'body', t.body, 'kind', j.kind, 'acceptance', t.acceptance, 'acceptance_met', t.acceptance_met,
        'input_context', t.input_context, 'secret_keys', t.secret_keys, 'status_by', j.status_by, 'status_at', j.status_at,
        'max_retries', j.max_retries, 'max_lost', j.max_lost, 'retry_backoff_seconds', j.retry_backoff_seconds,
        'last_error', j.last_error, 'progress_percent', CASE WHEN l.job_id IS NULL THEN j.progress_percent ELSE l.progress_percent END,
        'current_step', coalesce(l.current_step, j.current_step), 'checkpoint', coalesce(l.checkpoint, j.checkpoint), 'result', j.result,
        'review_required', j.review_required, 'estimated_complexity', j.estimated_complexity, 'estimated_minutes', j.estimated_minutes,
        'token_budget', j.token_budget, 'waits_for_children', j.waits_for_children, 'idempotency_key', coalesce(j.idempotency_key, ''),
        'version', j.version, 'created_by', j.created_by, 'created_at', j.created_at, 'updated_at', j.updated_at, 'ready_at', j.ready_at,
        'assigned_at', j.assigned_at, 'started_at', j.started_at, 'completed_at', j.completed_at, 'failed_at', j.failed_at)
    FROM job_text t LEFT JOIN job_lease l ON l.workspace_id = j.workspace_id AND l.job_id = j.id
    WHERE t.workspace_id = j.workspace_id AND t.job_id = j.id
$$;
-- +goose StatementEnd
INSERT INTO content (workspace_id, sha256, body)
SELECT j.workspace_id, sha256(convert_to(x.value::text, 'UTF8')), x.value::text
FROM job j, jsonb_each(pg_temp.untold(j)) x WHERE octet_length(x.value::text) > 1024 ON CONFLICT DO NOTHING;
WITH told AS (
    INSERT INTO event (workspace_id, type, job_id, actor, actor_kind, epoch, changes)
    SELECT j.workspace_id, 'job.recorded', j.id, 'upgrade', 'system', nullif(j.epoch, 0),
        (SELECT jsonb_agg(CASE WHEN octet_length(x.value::text) > 1024
            THEN jsonb_build_object('field', x.key, 'old', NULL, 'new', NULL, 'new_sha256', encode(sha256(convert_to(x.value::text, 'UTF8')), 'hex'))
            ELSE jsonb_build_object('field', x.key, 'old', NULL, 'new', x.value) END) FROM jsonb_each(pg_temp.untold(j)) x)
    FROM job j WHERE EXISTS (SELECT FROM job_text t WHERE t.workspace_id = j.workspace_id AND t.job_id = j.id)
    RETURNING workspace_id, id, changes
)
INSERT INTO event_content (workspace_id, event_id, sha256)
SELECT DISTINCT e.workspace_id, e.id, decode(c->>'new_sha256', 'hex') FROM told e, jsonb_array_elements(e.changes) c WHERE c->>'new_sha256' IS NOT NULL;
DROP FUNCTION pg_temp.untold(job);
ALTER TABLE job FORCE ROW LEVEL SECURITY;
ALTER TABLE job_text FORCE ROW LEVEL SECURITY;
ALTER TABLE job_lease FORCE ROW LEVEL SECURITY;
ALTER TABLE event FORCE ROW LEVEL SECURITY;
ALTER TABLE content FORCE ROW LEVEL SECURITY;
ALTER TABLE event_content FORCE ROW LEVEL SECURITY;
