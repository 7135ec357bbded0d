-- name: AgentLearnProvider :one
-- Whose models an agent works with: as it says now, or said before, or told of what it
-- used under this lease. It is kept of the agent. No row: nobody knows.
UPDATE agent a SET provider = p.provider
FROM (SELECT coalesce(nullif(@provider::text, ''), nullif(k.provider, ''), (SELECT u.provider FROM usage_hour u
        WHERE u.workspace_id = @workspace_id AND u.job_id = @job_id AND u.epoch = @epoch LIMIT 1)) AS provider
    FROM agent k WHERE k.workspace_id = @workspace_id AND k.id = @agent_id) p
WHERE a.workspace_id = @workspace_id AND a.id = @agent_id AND p.provider IS NOT NULL
RETURNING a.provider;

-- name: ProviderHold :one
-- Holds a provider for some seconds from now, unless it is held for longer already, for
-- the agents of the same enrolment token.
INSERT INTO provider_hold AS h (workspace_id, provider, enrolment_id, until)
SELECT a.workspace_id, @provider, coalesce(a.enrolment_id, '00000000-0000-0000-0000-000000000000'),
    clock_timestamp() + make_interval(secs => @seconds::double precision)
FROM agent a WHERE a.workspace_id = @workspace_id AND a.id = @agent_id
ON CONFLICT (workspace_id, provider, enrolment_id) DO UPDATE SET until = greatest(h.until, excluded.until)
RETURNING until;
