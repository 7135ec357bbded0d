-- +goose Up
SELECT add_event_types('export.created', 'export.reset', 'export.removed');

-- A policy that is forced hides the rows from an owner that is no superuser; it is forced
-- again at the end.
ALTER TABLE message NO FORCE ROW LEVEL SECURITY;
ALTER TABLE message_export NO FORCE ROW LEVEL SECURITY;

-- Up to where lines were given out: nobody has written what lies behind it. What is there
-- now may have been given out before this column was there.
ALTER TABLE message_export ADD COLUMN handed text NOT NULL DEFAULT '';
UPDATE message_export e SET handed = CASE e.source
    WHEN 'events' THEN pg_current_xact_id()::text || '-0'
    ELSE coalesce((SELECT max(m.seq)::text FROM message m WHERE m.workspace_id = e.workspace_id), '') END;

ALTER TABLE message_export FORCE ROW LEVEL SECURITY;
ALTER TABLE message FORCE ROW LEVEL SECURITY;
