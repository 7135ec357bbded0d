-- name: DatabaseIdentity :one
-- Which PostgreSQL answers, and which one was noticed last, none being empty and 0.
SELECT a.system::text AS system, a.timeline::bigint AS timeline,
    coalesce((SELECT i.system FROM database_identity i), '')::text AS known_system,
    coalesce((SELECT i.timeline FROM database_identity i), 0)::bigint AS known_timeline,
    coalesce((SELECT max(p.id) FROM database_proof p), 0)::bigint AS newest
FROM answering_database() a;

-- name: DatabaseIdentityLock :many
SELECT i.system, i.timeline FROM database_identity i WHERE i.only_row FOR UPDATE;

-- name: DatabaseIdentityInsert :exec
INSERT INTO database_identity (system, timeline) VALUES (@system, @timeline) ON CONFLICT DO NOTHING;

-- name: DatabaseIdentityUpdate :exec
UPDATE database_identity SET system = @system, timeline = @timeline, since = clock_timestamp() WHERE only_row;

-- name: ProofInsert :exec
INSERT INTO database_proof (kind, system, timeline) VALUES (@kind, @system, @timeline);

-- name: ProofTake :many
-- Takes the newest proof that nobody is at work on.
UPDATE database_proof SET looker = @looker, renewed_at = clock_timestamp()
WHERE id = (SELECT p.id FROM database_proof p WHERE p.done_at IS NULL AND p.renewed_at < clock_timestamp() - interval '30 s'
    ORDER BY p.id DESC LIMIT 1 FOR UPDATE SKIP LOCKED)
RETURNING id;

-- name: ProofRenew :execrows
UPDATE database_proof SET renewed_at = clock_timestamp() WHERE id = @id AND looker = @looker AND done_at IS NULL;

-- name: ProofDone :execrows
-- Writes what a look found. Those that were begun earlier are answered by it.
UPDATE database_proof SET done_at = clock_timestamp(), workspaces = @workspaces, jobs = @jobs, found = @found, findings = @findings,
    blind = @blind, looker = @looker
WHERE id <= sqlc.arg('id')::bigint AND done_at IS NULL;

-- name: Proofs :many
-- The newest proofs.
SELECT p.id, p.kind, p.system, p.timeline, p.noticed_at, p.looker, p.done_at, p.workspaces, p.jobs, p.found, p.findings, p.blind
FROM database_proof p ORDER BY p.id DESC LIMIT @max_rows;

-- name: LossAdd :exec
INSERT INTO log_loss (workspace_id, noticed_by, detail, block, events, event_count, first_event, last_event)
VALUES (@workspace_id, @noticed_by, @detail, @block, @events, @event_count, @first_event, @last_event);

-- name: LossLock :exec
-- Two servers that had seen the same write it down one after the other.
SELECT pg_advisory_xact_lock(hashtextextended(concat('log_loss ', @workspace_id::text), 0));

-- name: Losses :many
-- The newest losses of a workspace.
SELECT l.workspace_id, l.id, l.noticed_at, l.noticed_by, l.detail, l.block, l.events, l.event_count, l.first_event, l.last_event, l.noted_at
FROM log_loss l WHERE l.workspace_id = @workspace_id ORDER BY l.id DESC LIMIT @max_rows;

-- name: LossesOpen :many
-- The losses that no person has noted, the newest first, with the first fifty of their events: every page
-- counts them.
SELECT l.workspace_id, l.id, l.noticed_at, l.noticed_by, l.detail, l.block,
    jsonb_path_query_array(l.events, '$[0 to 49]')::jsonb AS events, l.event_count, l.first_event, l.last_event, l.noted_at
FROM log_loss l WHERE l.workspace_id = @workspace_id AND l.noted_at IS NULL ORDER BY l.id DESC LIMIT @max_rows;

-- name: LossesNote :execrows
UPDATE log_loss SET noted_at = clock_timestamp() WHERE workspace_id = @workspace_id AND noted_at IS NULL;

-- name: TransactionNumber :one
SELECT pg_current_xact_id()::text AS xid;
