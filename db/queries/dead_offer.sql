-- name: DeadOfferInsert :execrows
-- Keeps an offer as dead while its version of the job is still ready.
INSERT INTO dead_offer (workspace_id, job_id, job_version, factory_id, factory, deliveries, expires_at)
SELECT j.workspace_id, j.id, j.version, f.id, f.name, @deliveries, @expires_at
FROM job j JOIN factory f ON f.workspace_id = j.workspace_id AND f.id = @factory_id
WHERE j.workspace_id = @workspace_id AND j.id = @job_id AND j.version = @version AND j.status = 'ready'
ON CONFLICT DO NOTHING;

-- name: DeadOffers :many
-- Dead offers before an id, the newest first.
SELECT d.id, j.key, j.title, d.factory, d.deliveries, d.expires_at, d.at
FROM (SELECT x.* FROM dead_offer x WHERE x.workspace_id = @workspace_id AND x.id < @before ORDER BY x.id DESC LIMIT @max_rows) d
CROSS JOIN LATERAL (SELECT k.key, k.title FROM job k WHERE k.workspace_id = @workspace_id AND k.id = d.job_id OFFSET 0) j
ORDER BY d.id DESC;

-- name: DeadOffersOfJob :many
SELECT d.id, d.factory, d.deliveries, d.expires_at, d.at FROM dead_offer d
WHERE d.workspace_id = @workspace_id AND d.job_id = @job_id
ORDER BY d.id DESC LIMIT @max_rows;

-- name: DeadOfferExpire :execrows
DELETE FROM dead_offer d WHERE d.workspace_id = @workspace_id AND d.id IN (
    SELECT o.id FROM dead_offer o
    WHERE o.workspace_id = @workspace_id AND o.at < statement_timestamp() - make_interval(secs => @keep_seconds::float8)
    ORDER BY o.at LIMIT @max_rows);

-- name: AgentFactoryID :one
-- The factory of an agent, unless its boot was replaced.
SELECT a.factory_id FROM agent a WHERE a.workspace_id = @workspace_id AND a.id = @id AND a.boot_id = @boot_id;
