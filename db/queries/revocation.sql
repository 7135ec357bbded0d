-- name: RevocationPut :exec
-- Ends an enrolment token's agents (floor 0) or an agent's tokens below a
-- generation.
INSERT INTO revocation (workspace_id, subject, reason, floor)
VALUES (@workspace_id, @subject, @reason, @floor)
ON CONFLICT (workspace_id, subject) DO UPDATE SET reason = excluded.reason,
    floor = greatest(revocation.floor, excluded.floor), at = clock_timestamp();

-- name: RevocationSince :many
-- For the system role: what was revoked after a time, in all workspaces.
SELECT workspace_id, subject, reason, floor, at FROM revocation WHERE at > @since ORDER BY at;

-- name: RevocationNow :one
SELECT clock_timestamp()::timestamptz AS now;

-- name: RevocationOldWorkspaces :many
-- For the system role: where there are rows that no token outlives.
SELECT DISTINCT o.workspace_id FROM (
    SELECT r.workspace_id FROM revocation r WHERE r.at < now() - interval '2 hours' ORDER BY r.at LIMIT @max_rows) o;

-- name: RevocationExpire :exec
DELETE FROM revocation WHERE workspace_id = @workspace_id AND at < now() - interval '2 hours';

-- name: AgentsOfEnrolment :many
-- The agents that registered with an enrolment token and were not ended since.
SELECT name FROM agent
WHERE workspace_id = @workspace_id AND enrolment_id = @enrolment_id::uuid AND cut_off_at IS NULL
ORDER BY name;

-- name: AgentCutOff :one
UPDATE agent SET terminated_at = coalesce(terminated_at, now()), terminate_reason = @reason,
    cut_off_at = coalesce(cut_off_at, now()), ended_gracefully = false, has_ended = false, generation = generation + 1
WHERE workspace_id = @workspace_id AND name = @name
RETURNING id, generation;
