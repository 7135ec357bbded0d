-- What a request waits for before it is run alone: each takes locks and writes nothing.
-- The order is factory, agent, jobs, leases; jobs and leases in the order of their ids.

-- name: FactoryWait :exec
-- The factory of an agent.
SELECT FROM factory f WHERE f.workspace_id = @workspace_id
    AND f.id = (SELECT a.factory_id FROM agent a WHERE a.workspace_id = @workspace_id AND a.id = @agent_id)
FOR NO KEY UPDATE;

-- name: AgentWait :exec
SELECT FROM agent a WHERE a.workspace_id = @workspace_id AND a.id = @agent_id FOR NO KEY UPDATE;

-- name: JobsWait :exec
-- Those of the jobs that an agent holds and has not started.
SELECT FROM job j
WHERE j.workspace_id = @workspace_id AND j.id = ANY(ARRAY(SELECT l.job_id FROM job_lease l
        WHERE l.workspace_id = @workspace_id AND l.job_id = ANY(@job_ids::uuid[]) AND l.agent_id IS NOT DISTINCT FROM @agent_id))
    AND j.status IS NOT DISTINCT FROM 'assigned'
ORDER BY j.id FOR NO KEY UPDATE;

-- name: LeasesWait :exec
-- The leases of an agent: on these jobs, or all. They are found by their agent alone,
-- in a form that only one index serves, and locked by their ids.
SELECT FROM job_lease l
WHERE l.workspace_id = @workspace_id AND l.job_id = ANY(ARRAY(SELECT o.job_id FROM job_lease o
        WHERE o.workspace_id = @workspace_id AND (o.agent_id, o.number) >= (@agent_id::uuid, 0)
            AND (o.agent_id, o.number) <= (@agent_id::uuid, 9223372036854775807)))
    AND (@every::boolean OR l.job_id = ANY(@job_ids::uuid[])) IS TRUE
ORDER BY l.job_id FOR UPDATE;
