-- +goose Up
-- A person took back the last act on a job.
SELECT add_event_types('job.undone');

-- What an event of a job tells, as before; what comes back from the archive keeps the time at
-- which it ended.
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION event_told(e public.event) RETURNS TABLE (n bigint, change jsonb)
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
            ('completed_at', to_jsonb(e.saved_at), s.new = 'completed' AND s.old NOT IN ('completed', 'archived')),
            ('completed_at', 'null', s.new NOT IN ('completed', 'archived')),
            ('failed_at', to_jsonb(e.saved_at), s.new IN ('failed', 'aborted') AND s.old NOT IN ('failed', 'aborted', 'archived')),
            ('failed_at', 'null', s.new NOT IN ('failed', 'aborted', 'archived'))) v(field, new, holds)
            WHERE v.holds AND s.new <> s.old
    )
    SELECT 0, jsonb_build_object('field', i.field, 'old', NULL, 'new', i.new) FROM implied i WHERE e.saved_at IS NOT NULL
    UNION ALL
    SELECT c.n, c.change FROM jsonb_array_elements(e.changes) WITH ORDINALITY AS c(change, n)
$$;
-- +goose StatementEnd
