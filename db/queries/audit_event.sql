-- name: AuditEvents :many
-- What people did beside jobs, before a place, the newest first. The condition
-- is that of the index event_audit.
SELECT e.id, e.type, e.actor, e.actor_kind, e.actor_id, e.at, e.changes, e.payload FROM event e
WHERE e.workspace_id = @workspace_id
    AND e.job_id IS NULL AND (e.actor_kind = 'person' OR e.type = 'key.rotation_done')
    AND (e.at, e.id) < (sqlc.arg('before_at')::timestamptz, sqlc.arg('before_id')::bigint)
    AND (cardinality(@types::text[]) = 0 OR e.type LIKE ANY(@types::text[]))
    AND (cardinality(@actors::text[]) = 0 OR e.actor = ANY(@actors::text[]) OR e.actor_id = ANY(@actors::text[]))
ORDER BY e.workspace_id DESC, e.at DESC, e.id DESC LIMIT @max_rows;
