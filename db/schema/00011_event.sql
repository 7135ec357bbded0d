-- +goose Up

-- Which facts there are. The constraint event_type_known, which add_event_types below
-- makes, is held equal to the constants of eventlog
-- by a test; a new fact is one constant and one line of a migration:
-- SELECT add_event_types('job.purged');
CREATE TABLE event_type (
    name text NOT NULL,
    PRIMARY KEY (name)
);

-- One fact, appended in the transaction that made it true. Ids are taken before
-- commit and so do not follow commit order; whoever tails the log reads by
-- (xid, id) and only below the oldest running transaction.
CREATE TABLE event (
    workspace_id uuid NOT NULL,
    id           bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
    xid          xid8 NOT NULL DEFAULT pg_current_xact_id(),
    -- Past tense: job.paused.
    type         text NOT NULL,
    job_id       uuid,
    actor        text NOT NULL,
    actor_kind   text NOT NULL,
    epoch        bigint,
    at           timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- [{field, old, new}]
    changes      jsonb NOT NULL DEFAULT '[]',
    payload      jsonb NOT NULL DEFAULT '{}',
    -- When a job's row was written along with the event, as the row itself says; NULL
    -- where the event changed no row of a job.
    saved_at     timestamptz,
    -- Who did it: names change, ids do not. An account's, an agent's or an enrolment
    -- token's id, of the system its loop's name; '' in events older than this column.
    actor_id     text NOT NULL DEFAULT '',
    PRIMARY KEY (workspace_id, id),
    FOREIGN KEY (workspace_id) REFERENCES workspace(id) ON DELETE CASCADE
) WITH (autovacuum_vacuum_insert_scale_factor = 0.01, autovacuum_vacuum_insert_threshold = 50000,
    autovacuum_freeze_min_age = 100000, autovacuum_analyze_scale_factor = 0.05);
-- What people did beside jobs: settings, members, tokens, products, factories.
-- A row of it stands among very many events of jobs and of agents, which this
-- index leaves out. A query has to say the same condition, word for word; the
-- end of a key rotation is in it because a loop reports what a person began.
-- The order is by time, which no other index has: whatever the statistics say,
-- the newest ones are read from here.
CREATE INDEX event_audit ON event (workspace_id, at, id) WHERE ((job_id IS NULL) AND ((actor_kind = 'person')
    OR (type = 'key.rotation_done')));
CREATE INDEX event_job ON event (workspace_id, job_id, id) WHERE (job_id IS NOT NULL);
CREATE INDEX event_tail ON event (workspace_id, xid, id);

-- Values that are too long to stand in events, each once in a workspace: a JSON
-- text under its SHA-256.
CREATE TABLE content (
    workspace_id uuid NOT NULL,
    sha256       bytea NOT NULL CHECK (octet_length(sha256) = 32),
    body         text NOT NULL,
    made_at      timestamptz NOT NULL DEFAULT now(),
    -- Since when no event is known to refer to it.
    unused_at    timestamptz,
    PRIMARY KEY (workspace_id, sha256),
    FOREIGN KEY (workspace_id) REFERENCES workspace(id) ON DELETE CASCADE
);
CREATE INDEX content_unused ON content (workspace_id, unused_at) WHERE (unused_at IS NOT NULL);

CREATE TABLE event_content (
    workspace_id uuid NOT NULL,
    event_id     bigint NOT NULL,
    sha256       bytea NOT NULL,
    PRIMARY KEY (workspace_id, event_id, sha256),
    FOREIGN KEY (workspace_id) REFERENCES workspace(id) ON DELETE CASCADE,
    FOREIGN KEY (workspace_id, sha256) REFERENCES content(workspace_id, sha256)
);
CREATE INDEX event_content_of ON event_content (workspace_id, sha256);

-- Each shows and takes only rows of the transaction's workspace. Outside a transaction
-- the setting is the empty string, hence nullif; the sub-select makes it evaluated
-- once, not per row.
-- +goose StatementBegin
DO $$
DECLARE
    t text;
BEGIN
    FOREACH t IN ARRAY ARRAY['event', 'content', 'event_content']
    LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', t);
        EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', t);
        EXECUTE format('CREATE POLICY workspace ON %I TO fleetboard_app
            USING (workspace_id = (SELECT nullif(current_setting(''app.workspace_id'', true), '''')::uuid))
            WITH CHECK (workspace_id = (SELECT nullif(current_setting(''app.workspace_id'', true), '''')::uuid))', t);
    END LOOP;
END
$$;
-- +goose StatementEnd

-- The application cannot change or take away an event. What is old is folded by
-- a function of the owner, which decides itself what is old (ADR 0016). The log
-- forces its policies on the owner too, and the owner need not be a superuser.
CREATE POLICY compaction ON event TO CURRENT_USER
    USING ((workspace_id = (SELECT (nullif(current_setting('app.workspace_id', true), ''))::uuid)))
    WITH CHECK ((workspace_id = (SELECT (nullif(current_setting('app.workspace_id', true), ''))::uuid)));
CREATE POLICY system ON event FOR SELECT TO fleetboard_system
    USING (true);
GRANT SELECT, INSERT ON event TO fleetboard_app;
GRANT SELECT (workspace_id, id, xid) ON event TO fleetboard_system;
CREATE POLICY compaction ON content TO CURRENT_USER
    USING ((workspace_id = (SELECT (nullif(current_setting('app.workspace_id', true), ''))::uuid)))
    WITH CHECK ((workspace_id = (SELECT (nullif(current_setting('app.workspace_id', true), ''))::uuid)));
GRANT SELECT, INSERT ON content TO fleetboard_app;
CREATE POLICY compaction ON event_content TO CURRENT_USER
    USING ((workspace_id = (SELECT (nullif(current_setting('app.workspace_id', true), ''))::uuid)))
    WITH CHECK ((workspace_id = (SELECT (nullif(current_setting('app.workspace_id', true), ''))::uuid)));
GRANT SELECT, INSERT ON event_content TO fleetboard_app;

-- +goose StatementBegin
CREATE FUNCTION add_event_types(VARIADIC names text[]) RETURNS void LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS
$$
BEGIN
    INSERT INTO public.event_type (name) SELECT unnest(names) ON CONFLICT DO NOTHING;
    -- What earlier versions wrote is not looked at: the list only grows.
    EXECUTE 'ALTER TABLE public.event DROP CONSTRAINT IF EXISTS event_type_known,
        ADD CONSTRAINT event_type_known CHECK (type IN ('
        || (SELECT string_agg(quote_literal(t.name), ', ' ORDER BY t.name) FROM public.event_type t) || ')) NOT VALID';
END
$$;
-- +goose StatementEnd
REVOKE ALL ON FUNCTION add_event_types(VARIADIC text[]) FROM PUBLIC;
SELECT add_event_types('job.created', 'job.edited', 'job.promoted', 'job.held', 'job.blocked', 'job.unblocked',
    'job.answered', 'job.paused', 'job.resumed', 'job.claimed', 'job.started', 'job.progressed', 'job.released',
    'job.lost', 'job.warned', 'job.timed_out', 'job.attempt_failed', 'job.asked', 'job.handed_in', 'job.completed',
    'job.failed', 'job.approved', 'job.rejected', 'job.merged', 'job.merge_failed', 'job.cancel_requested',
    'job.pause_requested', 'job.cancelled', 'job.retried', 'job.archived', 'job.linked', 'job.unlinked',
    'job.compacted', 'job.recorded', 'job.repaired', 'product.saved', 'product.deleted', 'workspace.created',
    'workspace.renamed', 'member.invited', 'invitation.revoked', 'member.joined', 'member.role_changed',
    'member.removed', 'member.left', 'member.disabled', 'member.enabled', 'member.sessions_ended',
    'account.log_in_disowned', 'workspace.second_factor_set', 'account.renamed', 'account.password_changed',
    'account.second_factor_on', 'account.second_factor_off', 'account.identity_linked', 'account.identity_unlinked',
    'account.sessions_ended', 'token.issued', 'token.revoked', 'agent.cut_off', 'key.rotation_begun',
    'key.rotation_done', 'factory.drained', 'factory.undrained', 'agent.registered', 'agent.superseded',
    'agent.terminated', 'agent.went_stale', 'agent.died', 'agent.revived', 'job.purged');

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
REVOKE ALL ON FUNCTION event_told(e event) FROM PUBLIC;

-- Takes what events of a job, up to one of them, tell at length away from them, and
-- notes which contents nobody refers to any more. For the owner's functions that
-- delete the events.
-- +goose StatementBegin
CREATE FUNCTION release_contents(workspace uuid, job uuid, last bigint) RETURNS void
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS
$$
DECLARE
    released bytea[];
BEGIN
    WITH gone AS (
        DELETE FROM public.event_content r USING public.event e
        WHERE e.workspace_id = workspace AND e.job_id = job AND e.id <= last
            AND r.workspace_id = workspace AND r.event_id = e.id
        RETURNING r.sha256
    )
    SELECT array_agg(g.sha256) INTO released FROM gone g;
    UPDATE public.content c SET unused_at = now() WHERE c.workspace_id = workspace AND c.sha256 = ANY(released)
        AND NOT EXISTS (SELECT FROM public.event_content r WHERE r.workspace_id = workspace AND r.sha256 = c.sha256);
END
$$;
-- +goose StatementEnd
REVOKE ALL ON FUNCTION release_contents(workspace uuid, job uuid, last bigint) FROM PUBLIC;

-- +goose StatementBegin
CREATE FUNCTION compact_job_events(workspace uuid, job uuid) RETURNS integer
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
REVOKE ALL ON FUNCTION compact_job_events(workspace uuid, job uuid) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION compact_job_events(workspace uuid, job uuid) TO fleetboard_app;

-- +goose StatementBegin
CREATE FUNCTION collect_contents(workspace uuid, max_rows integer) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS
$$
DECLARE
    due     bytea[];
    deleted integer;
BEGIN
    IF workspace IS DISTINCT FROM nullif(current_setting('app.workspace_id', true), '')::uuid THEN
        RAISE insufficient_privilege USING MESSAGE = 'this transaction is of another workspace';
    END IF;
    due := ARRAY(SELECT c.sha256 FROM public.content c
        WHERE c.workspace_id = workspace AND c.unused_at < now() - interval '1 day'
        ORDER BY c.unused_at LIMIT max_rows FOR UPDATE SKIP LOCKED);
    -- What an event came to refer to again stays.
    UPDATE public.content c SET unused_at = NULL WHERE c.workspace_id = workspace AND c.sha256 = ANY(due)
        AND EXISTS (SELECT FROM public.event_content r WHERE r.workspace_id = workspace AND r.sha256 = c.sha256);
    DELETE FROM public.content c WHERE c.workspace_id = workspace AND c.sha256 = ANY(due) AND c.unused_at IS NOT NULL;
    GET DIAGNOSTICS deleted = ROW_COUNT;
    RETURN deleted;
END
$$;
-- +goose StatementEnd
REVOKE ALL ON FUNCTION collect_contents(workspace uuid, max_rows integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION collect_contents(workspace uuid, max_rows integer) TO fleetboard_app;

-- Deletes what all events of a job tell at length, at once where no event of another
-- job tells the same: for a function of the owner that purges a job, before it
-- deletes the events.
-- +goose StatementBegin
CREATE FUNCTION drop_job_contents(workspace uuid, job uuid) RETURNS integer
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS
$$
DECLARE
    told    bytea[];
    deleted integer;
BEGIN
    told := ARRAY(SELECT DISTINCT r.sha256 FROM public.event e
        JOIN public.event_content r ON r.workspace_id = e.workspace_id AND r.event_id = e.id
        WHERE e.workspace_id = workspace AND e.job_id = job);
    PERFORM public.release_contents(workspace, job, 9223372036854775807);
    DELETE FROM public.content c WHERE c.workspace_id = workspace AND c.sha256 = ANY(told)
        AND NOT EXISTS (SELECT FROM public.event_content r WHERE r.workspace_id = workspace AND r.sha256 = c.sha256);
    GET DIAGNOSTICS deleted = ROW_COUNT;
    RETURN deleted;
END
$$;
-- +goose StatementEnd
REVOKE ALL ON FUNCTION drop_job_contents(workspace uuid, job uuid) FROM PUBLIC;

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
REVOKE ALL ON FUNCTION purge_job(workspace uuid, job uuid, actor text, actor_kind text, actor_id text,
    OUT sum bigint, OUT removed bigint[]) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION purge_job(workspace uuid, job uuid, actor text, actor_kind text, actor_id text, OUT sum bigint,
    OUT removed bigint[]) TO fleetboard_app;

