-- +goose Up

-- A policy that is forced hides the rows from an owner that is no superuser; it is forced
-- again at the end.
ALTER TABLE idempotent_request NO FORCE ROW LEVEL SECURITY;
ALTER TABLE event NO FORCE ROW LEVEL SECURITY;

-- Each asker has keys of its own: an account, an agent, an enrolment token; all zeros is the
-- server, or in rows of the day before this column somebody who is not known any more.
-- The answer is what the first request led to, as JSON.
ALTER TABLE idempotent_request
    ADD COLUMN asker uuid NOT NULL DEFAULT '00000000-0000-0000-0000-000000000000',
    ADD COLUMN answer bytea NOT NULL DEFAULT '';
UPDATE idempotent_request r SET answer = convert_to(to_json(r.job_ids)::text, 'UTF8'), asker = coalesce(
    (SELECT e.actor_id::uuid FROM event e WHERE e.workspace_id = r.workspace_id AND e.job_id = r.job_ids[1]
        AND e.type = 'job.created' AND e.actor_kind <> 'system' AND e.actor_id <> '' LIMIT 1), r.asker);
ALTER TABLE idempotent_request
    DROP COLUMN job_ids,
    ALTER COLUMN asker DROP DEFAULT,
    ALTER COLUMN answer DROP DEFAULT,
    DROP CONSTRAINT idempotent_request_pkey,
    ADD PRIMARY KEY (workspace_id, asker, key);

ALTER TABLE event FORCE ROW LEVEL SECURITY;
ALTER TABLE idempotent_request FORCE ROW LEVEL SECURITY;
