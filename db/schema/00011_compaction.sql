-- +goose Up

-- The application cannot change or take away an event. What is old is folded by
-- a function of the owner, which decides itself what is old (ADR 0016). The log
-- forces its policies on the owner too, and the owner need not be a superuser.
CREATE POLICY compaction ON event TO CURRENT_USER
    USING (workspace_id = (SELECT nullif(current_setting('app.workspace_id', true), '')::uuid))
    WITH CHECK (workspace_id = (SELECT nullif(current_setting('app.workspace_id', true), '')::uuid));

-- Folds the events of a job that are older than 90 days into one event, at the
-- place of the newest of them, where there are more than 50; at most 5,000 in
-- one call. Returns how many were folded. Old is a job's history up to its first
-- event that is not: what replays it reads events in the order of their ids.
-- +goose StatementBegin
CREATE FUNCTION compact_job_events(workspace uuid, job uuid) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS
$$
DECLARE
    cutoff constant timestamptz := now() - interval '90 days';
    last   bigint;
    folded integer;
    old    public.event;
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

    SELECT workspace_id, id, xid, 'job.compacted', job_id, 'compaction', 'system', NULL, at, '[]', '{}' INTO old
    FROM public.event WHERE workspace_id = workspace AND id = last;
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
    SELECT coalesce(jsonb_agg(jsonb_build_object('field', f.field, 'old', f.first, 'new', f.last) ORDER BY f.at, f.n), '[]')
    INTO old.changes FROM (
        SELECT c.change->>'field' AS field, min(e.id) AS at, (array_agg(c.n ORDER BY e.id, c.n))[1] AS n,
            (array_agg(c.change->'old' ORDER BY e.id, c.n))[1] AS first,
            (array_agg(c.change->'new' ORDER BY e.id DESC, c.n DESC))[1] AS last
        FROM public.event e, jsonb_array_elements(e.changes) WITH ORDINALITY AS c(change, n)
        WHERE e.workspace_id = workspace AND e.job_id = job AND e.id <= last GROUP BY c.change->>'field') f;

    DELETE FROM public.event e WHERE e.workspace_id = workspace AND e.job_id = job AND e.id <= last;
    INSERT INTO public.event (workspace_id, id, xid, type, job_id, actor, actor_kind, epoch, at, changes, payload)
    OVERRIDING SYSTEM VALUE VALUES (old.workspace_id, old.id, old.xid, old.type, old.job_id, old.actor, old.actor_kind,
        old.epoch, old.at, old.changes, old.payload);
    RETURN folded;
END
$$;
-- +goose StatementEnd
REVOKE ALL ON FUNCTION compact_job_events(uuid, uuid) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION compact_job_events(uuid, uuid) TO fleetboard_app;
