-- +goose Up

SELECT add_event_types('job.purged');

-- Takes a finished job away for which no other one waits, with all that is kept of
-- it but what was spent: its events become one, job.purged. Returns that event's id
-- and theirs. The application may delete neither events nor attempts; this decides
-- itself which jobs may go (ADR 40).
-- +goose StatementBegin
CREATE FUNCTION purge_job(workspace uuid, job uuid, actor text, actor_kind text, actor_id text, OUT sum bigint, OUT removed bigint[])
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS
$$
DECLARE
    gone public.job;
    said jsonb;
BEGIN
    IF workspace IS DISTINCT FROM nullif(current_setting('app.workspace_id', true), '')::uuid THEN
        RAISE insufficient_privilege USING MESSAGE = 'this transaction is of another workspace';
    END IF;
    -- Nobody folds its events meanwhile.
    PERFORM pg_advisory_xact_lock(hashtextextended('compact_job_events', 0) # hashtextextended(job::text, 0));
    SELECT * INTO gone FROM public.job j WHERE j.workspace_id = workspace AND j.id = job FOR UPDATE;
    IF gone.status IS NULL OR gone.status NOT IN ('failed', 'aborted', 'completed', 'archived') OR EXISTS (
        SELECT FROM public.job_dependency d
        WHERE d.workspace_id = workspace AND d.depends_on_id = job AND d.type IN ('blocks', 'parent')) THEN
        RAISE insufficient_privilege USING MESSAGE = 'only finished jobs that no other one depends on may go';
    END IF;

    SELECT array_agg(e.id ORDER BY e.id), jsonb_build_object('key', gone.key,
        'title_sha256', encode(sha256(convert_to(gone.title, 'UTF8')), 'hex'), 'status', gone.status,
        'created_at', gone.created_at, 'finished_at', coalesce(gone.completed_at, gone.failed_at),
        'from', min(CASE e.type WHEN 'job.compacted' THEN (e.payload->>'from')::timestamptz ELSE e.at END), 'to', max(e.at),
        'events', coalesce(sum(CASE e.type WHEN 'job.compacted' THEN (e.payload->>'events')::bigint ELSE 1 END), 0))
    INTO removed, said FROM public.event e WHERE e.workspace_id = workspace AND e.job_id = job;
    removed := coalesce(removed, '{}');

    PERFORM public.drop_job_contents(workspace, job);
    DELETE FROM public.event e WHERE e.workspace_id = workspace AND e.job_id = job;
    DELETE FROM public.job j WHERE j.workspace_id = workspace AND j.id = job;
    INSERT INTO public.event (workspace_id, type, job_id, actor, actor_kind, actor_id, changes, payload)
    VALUES (workspace, 'job.purged', job, purge_job.actor, purge_job.actor_kind, purge_job.actor_id,
        jsonb_build_array(jsonb_build_object('field', 'status', 'old', gone.status, 'new', NULL)), said)
    RETURNING id INTO sum;
END
$$;
-- +goose StatementEnd
REVOKE ALL ON FUNCTION purge_job(uuid, uuid, text, text, text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION purge_job(uuid, uuid, text, text, text) TO fleetboard_app;
