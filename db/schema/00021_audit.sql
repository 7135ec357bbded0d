-- +goose Up

-- What people did beside jobs: settings, members, tokens, products, factories.
-- A row of it stands among very many events of jobs and of agents, which this
-- index leaves out. A query has to say the same condition, word for word; the
-- end of a key rotation is in it because a loop reports what a person began.
-- The order is by time, which no other index has: whatever the statistics say,
-- the newest ones are read from here.
CREATE INDEX event_audit ON event (workspace_id, at, id)
    WHERE job_id IS NULL AND (actor_kind = 'person' OR type = 'key.rotation_done');
