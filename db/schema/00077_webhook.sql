-- +goose Up

SELECT add_event_types('webhook.created', 'webhook.changed', 'webhook.secret_rotated', 'webhook.disabled', 'webhook.deleted');

-- An address to which the events of a workspace are sent.
CREATE TABLE webhook (
    workspace_id    uuid NOT NULL,
    id              uuid NOT NULL,
    url             text NOT NULL CHECK (char_length(url) BETWEEN 1 AND 2000),
    -- Types of events, each exact or a family, job.*; * is all.
    types           text[] NOT NULL CHECK (cardinality(types) BETWEEN 1 AND 100),
    -- Products by name; none is all events, also those of no job.
    products        text[] NOT NULL DEFAULT '{}' CHECK (cardinality(products) <= 100),
    state           text NOT NULL DEFAULT 'active' CHECK (state IN ('active', 'paused', 'disabled')),
    -- Why the server does not send any more: the receiver said that it is gone, or took nothing.
    disabled_reason text NOT NULL DEFAULT '' CHECK (disabled_reason IN ('', 'gone', 'failing')),
    disabled_at     timestamptz,
    key_id          integer NOT NULL,
    -- A byte for the version of the form, and what the key sealed.
    sealed          bytea NOT NULL,
    -- The secret before the last rotation, as long as both sign.
    old_key_id      integer,
    old_sealed      bytea,
    old_until       timestamptz,
    created_by      text NOT NULL,
    created_at      timestamptz NOT NULL DEFAULT now(),
    updated_at      timestamptz NOT NULL DEFAULT now(),
    version         integer NOT NULL DEFAULT 1,
    PRIMARY KEY (workspace_id, id),
    FOREIGN KEY (workspace_id) REFERENCES workspace(id) ON DELETE CASCADE,
    FOREIGN KEY (workspace_id, key_id) REFERENCES workspace_key(workspace_id, id),
    FOREIGN KEY (workspace_id, old_key_id) REFERENCES workspace_key(workspace_id, id),
    CHECK ((state = 'disabled') = (disabled_at IS NOT NULL) AND (state = 'disabled') = (disabled_reason <> '')),
    CHECK ((old_key_id IS NULL) = (old_sealed IS NULL) AND (old_key_id IS NULL) = (old_until IS NULL))
);

-- How far the log was read for a webhook: what the process that sends writes.
CREATE TABLE webhook_place (
    workspace_id  uuid NOT NULL,
    webhook_id    uuid NOT NULL,
    -- A place in the log, as eventlog.Cursor writes it.
    place         text NOT NULL,
    -- The number of its last event.
    seq           bigint NOT NULL DEFAULT 0,
    -- Since when nothing was delivered, though it was tried.
    failing_since timestamptz,
    delivered_at  timestamptz,
    PRIMARY KEY (workspace_id, webhook_id),
    FOREIGN KEY (workspace_id, webhook_id) REFERENCES webhook(workspace_id, id) ON DELETE CASCADE
) WITH (fillfactor = 50);

-- An event on its way to a webhook. A bounded number of them is made ahead of what was delivered.
CREATE TABLE webhook_delivery (
    workspace_id uuid NOT NULL,
    -- What the receiver sees as webhook-id.
    id           uuid NOT NULL,
    webhook_id   uuid NOT NULL,
    -- Counts the events of the webhook, in the order of the log; 0 for a test.
    seq          bigint NOT NULL,
    event_id     bigint,
    type         text NOT NULL,
    -- The job of the event, which may have been deleted.
    job_id       uuid,
    job_key      text NOT NULL DEFAULT '',
    -- The same as long as it is there: what was said of a job that is deleted goes with it.
    job_there    uuid,
    body         text NOT NULL CHECK (octet_length(body) <= 262144),
    state        text NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'delivered', 'failed', 'skipped')),
    -- A person wants it sent, once: it holds back nothing, and is not tried again.
    once         boolean NOT NULL DEFAULT false,
    -- How many of the retries are used, and how often it was tried in all.
    retries      integer NOT NULL DEFAULT 0,
    tries        integer NOT NULL DEFAULT 0,
    created_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
    next_at      timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- When the next retry is due. A try before that, because the receiver is back, uses none.
    retry_at     timestamptz NOT NULL DEFAULT clock_timestamp(),
    tried_at     timestamptz,
    -- Of the last try: the status of the answer, 0 for none; what went wrong; how long it took.
    status       integer NOT NULL DEFAULT 0,
    error        text NOT NULL DEFAULT '' CHECK (char_length(error) <= 500),
    answer       text NOT NULL DEFAULT '' CHECK (char_length(answer) <= 1000),
    millis       integer NOT NULL DEFAULT 0,
    PRIMARY KEY (workspace_id, id),
    CONSTRAINT webhook_delivery_event UNIQUE (workspace_id, webhook_id, event_id),
    FOREIGN KEY (workspace_id, webhook_id) REFERENCES webhook(workspace_id, id) ON DELETE CASCADE,
    FOREIGN KEY (workspace_id, job_there) REFERENCES job(workspace_id, id) ON DELETE CASCADE
) WITH (fillfactor = 80);
CREATE INDEX webhook_delivery_pending ON webhook_delivery (workspace_id, webhook_id, next_at, seq) WHERE state = 'pending';
CREATE INDEX webhook_delivery_order ON webhook_delivery (workspace_id, webhook_id, job_id, seq) WHERE state = 'pending' AND NOT once;
CREATE INDEX webhook_delivery_failed ON webhook_delivery (workspace_id, webhook_id, seq) WHERE state = 'failed' AND NOT once;
CREATE INDEX webhook_delivery_newest ON webhook_delivery (workspace_id, webhook_id, id DESC);
CREATE INDEX webhook_delivery_job ON webhook_delivery (workspace_id, job_there) WHERE job_there IS NOT NULL;

-- +goose StatementBegin
DO $$
DECLARE
    t text;
BEGIN
    FOREACH t IN ARRAY ARRAY['webhook', 'webhook_place', 'webhook_delivery']
    LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', t);
        EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', t);
        EXECUTE format('CREATE POLICY workspace ON %I TO fleetboard_app
            USING (workspace_id = (SELECT nullif(current_setting(''app.workspace_id'', true), '''')::uuid))
            WITH CHECK (workspace_id = (SELECT nullif(current_setting(''app.workspace_id'', true), '''')::uuid))', t);
        EXECUTE format('GRANT SELECT, INSERT, DELETE, UPDATE ON %I TO fleetboard_app', t);
    END LOOP;
END
$$;
-- +goose StatementEnd
-- The process that sends learns which webhooks there are.
CREATE POLICY system ON webhook FOR SELECT TO fleetboard_system USING (true);
GRANT SELECT (workspace_id, id) ON webhook TO fleetboard_system;
