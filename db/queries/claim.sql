-- name: AgentsForClaim :many
-- What claims have to know of their agents, without a lock: an empty claim writes
-- nothing. Whether an agent's enrolment token was revoked is asked here too: no
-- job is given out on the word of a process that has not heard of it yet. Leases
-- are counted from the given numbers on, that of a factory where the agent is still
-- there; the oldest that is left is told, 0 where none is. Those that follow a pull
-- request take no seat and are counted apart, by indexes of theirs. Numbers are compared
-- together with whom they are of, from the given one to the highest that there can
-- be: so only one index fits, and is entered at that place.
-- Until the transaction ends no stop is written, unless one is at this moment: that is what
-- may_give says.
WITH stop AS MATERIALIZED (
    SELECT pg_try_advisory_xact_lock_shared(hashtextextended(@stop_lock::text, 0))::boolean AS may_give
), asked AS MATERIALIZED (
    SELECT unnest(@ids::uuid[]) AS id, unnest(@from_numbers::bigint[]) AS from_number,
        unnest(@factories::uuid[]) AS factory_id, unnest(@factory_numbers::bigint[]) AS factory_number
)
SELECT a.id, a.factory_id, a.boot_id, a.generation, a.model, a.provider, a.capabilities, a.max_concurrent_jobs AS seats, a.name,
    coalesce((SELECT extract(epoch FROM h.until - clock_timestamp()) FROM provider_hold h
        WHERE h.workspace_id = @workspace_id AND h.provider = a.provider
            AND h.enrolment_id = coalesce(a.enrolment_id, '00000000-0000-0000-0000-000000000000')), 0)::double precision AS held_seconds,
    f.name AS factory, f.os, f.engines, f.capabilities AS factory_capabilities, f.repos, f.seats AS factory_seats,
    (f.draining OR a.terminated_at IS NOT NULL)::boolean AS draining, own.taken, coalesce(own.oldest, 0)::bigint AS oldest_lease,
    beside.taken AS factory_taken, coalesce(beside.oldest, 0)::bigint AS factory_oldest_lease,
    (SELECT count(*) FROM job_lease l WHERE l.workspace_id = @workspace_id AND l.agent_id = a.id AND l.follows)::int AS follows,
    (SELECT count(*) FROM job_lease l WHERE l.workspace_id = @workspace_id AND l.factory_id = a.factory_id AND l.follows)::int AS factory_follows,
    EXISTS (SELECT FROM access_token e WHERE e.workspace_id = a.workspace_id AND e.id = a.enrolment_id
        AND e.revoked_at IS NOT NULL) AS enrolment_revoked,
    (a.cut_off_at IS NOT NULL)::boolean AS cut_off,
    coalesce((SELECT max(n.id) FROM lane n WHERE n.workspace_id = @workspace_id), 0)::bigint AS newest_lane,
    coalesce((SELECT d.version FROM dispatch_setting d WHERE d.workspace_id = @workspace_id), 0)::bigint AS setting_version,
    stop.may_give
FROM agent a JOIN asked ON asked.id = a.id CROSS JOIN stop
JOIN factory f ON f.workspace_id = a.workspace_id AND f.id = a.factory_id
CROSS JOIN LATERAL (SELECT count(*)::int AS taken, min(l.number) AS oldest FROM job_lease l
    WHERE l.workspace_id = @workspace_id AND (l.agent_id, l.number) >= (a.id, asked.from_number)
        AND (l.agent_id, l.number) <= (a.id, 9223372036854775807)) own
CROSS JOIN LATERAL (SELECT count(*)::int AS taken, min(l.number) AS oldest FROM job_lease l
    WHERE l.workspace_id = @workspace_id AND (l.factory_id, l.number)
            >= (a.factory_id, CASE WHEN asked.factory_id = a.factory_id THEN asked.factory_number ELSE 0 END)
        AND (l.factory_id, l.number) <= (a.factory_id, 9223372036854775807)) beside
WHERE a.workspace_id = @workspace_id AND a.id = ANY(@ids::uuid[]);

-- name: ProductsForClaim :many
-- The products whose lanes give nothing now: those that are stopped, by themselves or with the
-- whole fleet; those that are paused; and those with as many jobs in review as their limit
-- allows (no more than that many are counted), with the lanes of the most urgent jobs that
-- wait for that. With them those that a token names as its scope, and those whose work is proved.
WITH stopped AS MATERIALIZED (
    SELECT s.product_id FROM fleet_stop s WHERE s.workspace_id = @workspace_id AND s.released_at IS NULL
)
SELECT p.id, p.name, t.is_stopped, p.paused, f.is_full, ARRAY(SELECT j.lane_id FROM job j
        WHERE f.is_full AND j.workspace_id = @workspace_id AND j.product_id = p.id
            AND j.status = 'waiting' AND j.wait_reason = 'review_backlog'
        ORDER BY j.priority DESC, j.status_at, j.id LIMIT 50)::bigint[] AS held_lanes, p.proof_command
FROM product p CROSS JOIN LATERAL (SELECT coalesce((SELECT count(*) FROM (SELECT 1 FROM job r
        WHERE r.workspace_id = p.workspace_id AND r.product_id = p.id AND r.status = 'in_review'
        LIMIT p.review_limit) counted) >= p.review_limit, false)::boolean AS is_full OFFSET 0) f
CROSS JOIN LATERAL (SELECT EXISTS (SELECT FROM stopped s WHERE s.product_id IS NULL OR s.product_id = p.id) AS is_stopped) t
WHERE p.workspace_id = @workspace_id AND (t.is_stopped OR p.paused OR p.review_limit IS NOT NULL OR p.proof_command <> ''
    OR p.name = ANY(@names::text[]));

-- name: AgentsLock :many
-- Locks those of the agents that nobody has locked, with their factories, so that the
-- seats of both are counted right. It waits for no lock, so that the order does not
-- matter. Taking a job is a sign of life: otherwise the reaper would take it back at
-- once from an agent that was silent before.
WITH alone AS MATERIALIZED (
    SELECT f.id FROM factory f WHERE f.workspace_id = @workspace_id AND f.id = ANY(@factories::uuid[])
    FOR NO KEY UPDATE SKIP LOCKED
), kept AS MATERIALIZED (
    SELECT a.id, a.last_heartbeat_at FROM agent a
    WHERE a.workspace_id = @workspace_id AND a.id = ANY(@agents::uuid[])
        AND a.factory_id = ANY(ARRAY(SELECT x.id FROM alone x))
    FOR NO KEY UPDATE SKIP LOCKED
), seen AS (
    UPDATE agent s SET last_heartbeat_at = clock_timestamp()
    WHERE s.workspace_id = @workspace_id
        AND s.id = ANY(ARRAY(SELECT k.id FROM kept k WHERE k.last_heartbeat_at < clock_timestamp() - interval '5 seconds'))
)
SELECT kept.id FROM kept;

-- name: LeasesOfRequests :many
-- The live leases that claims with these request ids were given, looked for from a
-- number on, before which the agent has none. An id that held a secret is known by its
-- digest; an ask has a row for each digest that it may have been kept by.
WITH asked AS MATERIALIZED (
    SELECT unnest(@asks::int[]) AS ask, unnest(@agents::uuid[]) AS agent_id, unnest(@requests::text[]) AS request_id,
        unnest(@digests::bytea[]) AS request_digest, unnest(@from_numbers::bigint[]) AS from_number
)
SELECT DISTINCT asked.ask::int AS ask, l.job_id, (SELECT j.product_id FROM job j WHERE j.workspace_id = l.workspace_id AND j.id = l.job_id),
    (SELECT j.lane_id FROM job j WHERE j.workspace_id = l.workspace_id AND j.id = l.job_id)
FROM asked CROSS JOIN LATERAL (SELECT * FROM job_lease k WHERE k.workspace_id = @workspace_id AND k.agent_id = asked.agent_id
    AND (k.agent_id, k.number) >= (asked.agent_id, asked.from_number) AND (k.agent_id, k.number) <= (asked.agent_id, 9223372036854775807) OFFSET 0) l
WHERE (l.request_digest = asked.request_digest OR l.request_digest IS NULL AND l.request_id = asked.request_id)
    AND l.expires_at > clock_timestamp();

-- name: ReadyTake :many
-- Takes the most urgent jobs of one lane, from a place in its order on, that nobody
-- else is taking right now, out of job_ready. ORDER BY is the
-- index job_ready_claim; the CTEs are materialised so that LIMIT holds, which is a
-- query so that no new plan is made for each number. LeasesInsert has to follow in the
-- same transaction.
WITH at_place AS MATERIALIZED (
    SELECT r.job_id FROM job_ready r
    WHERE r.workspace_id = @workspace_id AND r.lane_id = @lane_id AND r.priority = @from_priority::smallint
        AND r.priority >= @min_priority AND (r.place, r.tie_break) >= (@from_place::timestamptz, @from_tie_break::bytea)
    ORDER BY r.place, r.tie_break LIMIT (SELECT @max_rows::int) FOR UPDATE SKIP LOCKED
), by_lane AS MATERIALIZED (
    SELECT r.job_id FROM job_ready r
    WHERE r.workspace_id = @workspace_id AND r.lane_id = @lane_id AND r.priority < @from_priority::smallint
        AND r.priority >= @min_priority
    ORDER BY r.priority DESC, r.place, r.tie_break
    LIMIT (SELECT @max_rows::int) - (SELECT count(*) FROM at_place) FOR UPDATE SKIP LOCKED
)
DELETE FROM job_ready r
WHERE r.workspace_id = @workspace_id
    AND r.job_id = ANY(ARRAY(SELECT p.job_id FROM at_place p UNION ALL SELECT p.job_id FROM by_lane p))
RETURNING r.job_id, r.priority, r.place, r.tie_break;

-- name: ReadyTakeOutside :many
-- Takes, of the most urgent jobs of one lane, those that count for none of some scopes of
-- budgets, like ReadyTake. It looks at the first max_scan jobs.
WITH looked AS MATERIALIZED (
    SELECT r.job_id, r.priority, r.place, r.tie_break FROM job_ready r
    WHERE r.workspace_id = @workspace_id AND r.lane_id = @lane_id AND r.priority >= @min_priority
    ORDER BY r.priority DESC, r.place, r.tie_break LIMIT (SELECT @max_scan::int)
), outside AS MATERIALIZED (
    SELECT l.job_id FROM looked l CROSS JOIN LATERAL (SELECT k.id, k.product_id, k.phase FROM job k
        WHERE k.workspace_id = @workspace_id AND k.id = l.job_id OFFSET 0) j
    WHERE NOT budget_scopes(j.product_id, j.phase, j.id) && @scopes::text[]
    ORDER BY l.priority DESC, l.place, l.tie_break LIMIT (SELECT @max_rows::int)
), locked AS MATERIALIZED (
    SELECT r.job_id FROM job_ready r
    WHERE r.workspace_id = @workspace_id AND r.job_id = ANY(ARRAY(SELECT o.job_id FROM outside o)) FOR UPDATE SKIP LOCKED
)
DELETE FROM job_ready r
WHERE r.workspace_id = @workspace_id AND r.job_id = ANY(ARRAY(SELECT l.job_id FROM locked l))
RETURNING r.job_id, r.priority, r.place, r.tie_break;

-- name: ReadyTakeOne :execrows
-- Takes one job out of job_ready, unless another claim is taking it or it stands in
-- another lane. The lane is compared in a form that no index serves, so that the row
-- is found by its id whatever the statistics say. LeasesInsert has to follow in the
-- same transaction.
WITH found AS MATERIALIZED (
    SELECT r.job_id FROM job_ready r
    WHERE r.workspace_id = @workspace_id AND r.job_id = @job_id AND r.lane_id IS NOT DISTINCT FROM @lane_id
    FOR UPDATE SKIP LOCKED
)
DELETE FROM job_ready r WHERE r.workspace_id = @workspace_id AND r.job_id = (SELECT f.job_id FROM found f);

-- name: LeasesInsert :many
-- Gives jobs that were taken out of job_ready to agents: each gets epoch + 1, a
-- lease, an attempt and an event. The job's status is checked again where it is
-- changed. Ids are handed on as an array and the status is compared in a form that
-- no index serves: whatever the statistics say, rows are found by their ids.
WITH given AS MATERIALIZED (
    SELECT unnest(@job_ids::uuid[]) AS job_id, unnest(@agent_ids::uuid[]) AS agent_id, unnest(@agents::text[]) AS agent,
        unnest(@factory_ids::uuid[]) AS factory_id, unnest(@factories::text[]) AS factory, unnest(@models::text[]) AS model,
        unnest(@session_keys::text[]) AS session_key, unnest(@request_ids::text[]) AS request_id,
        unnest(@request_digests::bytea[]) AS request_digest, unnest(@ttl_seconds::int[]) AS ttl_seconds
), taken AS (
    UPDATE job j SET status = 'assigned', status_by = g.agent, status_by_kind = 'agent', status_by_id = g.agent_id::text,
        carried_out_by = NULL, status_at = now(), epoch = j.epoch + 1,
        attempts = j.attempts + 1, assigned_at = now(), started_at = NULL, ready_at = NULL,
        progress_percent = NULL, current_step = '', version = j.version + 1, updated_at = now()
    FROM given g
    WHERE j.workspace_id = @workspace_id AND j.id = ANY(@job_ids::uuid[]) AND j.id = g.job_id
        AND j.status IS NOT DISTINCT FROM 'ready'
    RETURNING j.id, j.epoch, g.agent_id, g.agent, g.factory_id, g.factory, g.model, g.session_key, g.request_id,
        g.request_digest, g.ttl_seconds
), leased AS (
    INSERT INTO job_lease (workspace_id, job_id, epoch, agent_id, agent, factory_id, factory, session_key, request_id,
        request_digest, ttl_seconds, expires_at)
    SELECT @workspace_id, t.id, t.epoch, t.agent_id, t.agent, t.factory_id, t.factory, t.session_key, t.request_id,
        t.request_digest, t.ttl_seconds,
        clock_timestamp() + make_interval(secs => t.ttl_seconds)
    FROM taken t
    RETURNING job_id, number
), opened AS (
    INSERT INTO attempt (workspace_id, job_id, epoch, agent_id, agent, factory, model, session_key)
    SELECT @workspace_id, t.id, t.epoch, t.agent_id, t.agent, t.factory, t.model, t.session_key FROM taken t
), logged AS (
    INSERT INTO event (workspace_id, type, job_id, actor, actor_kind, actor_id, epoch, saved_at, changes, payload)
    SELECT @workspace_id, 'job.claimed', t.id, t.agent, 'agent', t.agent_id::text, t.epoch, now(),
        '[{"field": "status", "old": "ready", "new": "assigned"}]',
        jsonb_build_object('factory', t.factory, 'ttl_seconds', t.ttl_seconds) || CASE WHEN t.epoch = 1 THEN '{}' ELSE coalesce(
            (SELECT jsonb_build_object('former_agent', p.agent, 'former_epoch', p.epoch) FROM attempt p
                WHERE p.workspace_id = @workspace_id AND p.job_id = t.id AND p.epoch = t.epoch - 1), '{}') END
    FROM taken t
)
SELECT l.job_id, l.number FROM leased l;
