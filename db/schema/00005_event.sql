-- +goose Up

-- One fact, appended in the transaction that made it true. Ids are taken before
-- commit and so do not follow commit order; whoever tails the log reads by
-- (xid, id) and only below the oldest running transaction.
CREATE TABLE event (
    workspace_id uuid NOT NULL REFERENCES workspace ON DELETE CASCADE,
    id           bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
    xid          xid8 NOT NULL DEFAULT pg_current_xact_id(),
    -- Past tense: job.paused.
    type         text NOT NULL,
    job_id       uuid,
    actor        text NOT NULL,
    actor_kind   text NOT NULL,
    epoch        bigint,
    at           timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- [{field, old, new}]
    changes      jsonb NOT NULL DEFAULT '[]',
    payload      jsonb NOT NULL DEFAULT '{}',
    PRIMARY KEY (workspace_id, id)
);
CREATE INDEX event_tail ON event (workspace_id, xid, id);
CREATE INDEX event_job ON event (workspace_id, job_id, id) WHERE job_id IS NOT NULL;
