-- +goose Up

-- Which facts there are. The constraint is held equal to the constants of eventlog
-- by a test; a new fact is one constant and one line of a migration:
-- SELECT add_event_types('job.purged');
CREATE TABLE event_type (name text PRIMARY KEY);
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
REVOKE ALL ON FUNCTION add_event_types(text[]) FROM PUBLIC;
SELECT add_event_types(
    'job.created', 'job.edited', 'job.promoted', 'job.held', 'job.blocked', 'job.unblocked', 'job.answered', 'job.paused',
    'job.resumed', 'job.claimed', 'job.started', 'job.progressed', 'job.released', 'job.lost', 'job.warned', 'job.timed_out',
    'job.attempt_failed', 'job.asked', 'job.handed_in', 'job.completed', 'job.failed', 'job.approved', 'job.rejected',
    'job.merged', 'job.merge_failed', 'job.cancel_requested', 'job.pause_requested', 'job.cancelled', 'job.retried',
    'job.archived', 'job.linked', 'job.unlinked', 'job.compacted', 'job.recorded', 'job.repaired', 'product.saved',
    'product.deleted', 'workspace.created', 'workspace.renamed', 'member.invited', 'invitation.revoked', 'member.joined',
    'member.role_changed', 'member.removed', 'member.left', 'member.disabled', 'member.enabled', 'member.sessions_ended',
    'account.log_in_disowned', 'workspace.second_factor_set', 'account.renamed', 'account.password_changed',
    'account.second_factor_on', 'account.second_factor_off', 'account.identity_linked', 'account.identity_unlinked',
    'account.sessions_ended', 'token.issued', 'token.revoked', 'agent.cut_off', 'key.rotation_begun', 'key.rotation_done',
    'factory.drained', 'factory.undrained', 'agent.registered', 'agent.superseded', 'agent.terminated', 'agent.went_stale',
    'agent.died', 'agent.revived');

-- When a job's row was written along with the event, as the row itself says; NULL
-- where the event changed no row of a job.
ALTER TABLE event ADD COLUMN saved_at timestamptz;

-- Values that are too long to stand in events, each once in a workspace: a JSON
-- text under its SHA-256.
CREATE TABLE content (
    workspace_id uuid NOT NULL REFERENCES workspace ON DELETE CASCADE,
    sha256       bytea NOT NULL CHECK (octet_length(sha256) = 32),
    body         text NOT NULL,
    made_at      timestamptz NOT NULL DEFAULT now(),
    -- Since when no event is known to refer to it.
    unused_at    timestamptz,
    CONSTRAINT content_pkey PRIMARY KEY (workspace_id, sha256)
);
CREATE INDEX content_unused ON content (workspace_id, unused_at) WHERE unused_at IS NOT NULL;
CREATE TABLE event_content (
    workspace_id uuid NOT NULL REFERENCES workspace ON DELETE CASCADE,
    event_id     bigint NOT NULL,
    sha256       bytea NOT NULL,
    PRIMARY KEY (workspace_id, event_id, sha256),
    FOREIGN KEY (workspace_id, sha256) REFERENCES content
);
CREATE INDEX event_content_of ON event_content (workspace_id, sha256);

-- +goose StatementBegin
DO $$
DECLARE
    t text;
BEGIN
    FOREACH t IN ARRAY ARRAY['content', 'event_content']
    LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', t);
        EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', t);
        EXECUTE format('CREATE POLICY workspace ON %I TO fleetboard_app
            USING (workspace_id = (SELECT nullif(current_setting(''app.workspace_id'', true), '''')::uuid))
            WITH CHECK (workspace_id = (SELECT nullif(current_setting(''app.workspace_id'', true), '''')::uuid))', t);
        -- The owner's functions below, as on event.
        EXECUTE format('CREATE POLICY compaction ON %I TO CURRENT_USER
            USING (workspace_id = (SELECT nullif(current_setting(''app.workspace_id'', true), '''')::uuid))
            WITH CHECK (workspace_id = (SELECT nullif(current_setting(''app.workspace_id'', true), '''')::uuid))', t);
    END LOOP;
END
$$;
-- +goose StatementEnd
-- As with events, the application adds to them and reads them.
GRANT SELECT, INSERT ON content, event_content TO fleetboard_app;

-- Deletes contents of which no event has told for a day, at most max_rows in one
-- call. Returns how many.
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
-- Takes what events of a job, up to one of them, tell at length away from them, and
-- notes which contents nobody refers to any more. For the owner's functions that
-- delete the events.
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
-- Deletes what all events of a job tell at length, at once where no event of another
-- job tells the same: for a function of the owner that purges a job, before it
-- deletes the events.
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
REVOKE ALL ON FUNCTION collect_contents(uuid, integer), release_contents(uuid, uuid, bigint), drop_job_contents(uuid, uuid) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION collect_contents(uuid, integer) TO fleetboard_app;
