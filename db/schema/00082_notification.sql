-- +goose Up

SELECT add_event_types('notifications.changed');

-- What a member wants to be told of, where and when.
CREATE TABLE notification_setting (
    workspace_id     uuid NOT NULL,
    account_id       uuid NOT NULL,
    channels         text[] NOT NULL DEFAULT '{}' CHECK (channels <@ ARRAY['browser', 'email', 'webhook']),
    kinds            text[] NOT NULL DEFAULT '{}'
        CHECK (kinds <@ ARRAY['review', 'question', 'failed', 'budget', 'agent_dead', 'stopped']),
    -- The person's own webhook: where it leads, to be shown, and address and secret, sealed.
    webhook_shown    text NOT NULL DEFAULT '' CHECK (char_length(webhook_shown) <= 300),
    webhook_sealed   bytea,
    -- Minutes of the day in the time zone; both NULL where no hours are quiet.
    quiet_from       smallint CHECK (quiet_from BETWEEN 0 AND 1439),
    quiet_to         smallint CHECK (quiet_to BETWEEN 0 AND 1439),
    timezone         text NOT NULL DEFAULT 'UTC' CHECK (char_length(timezone) BETWEEN 1 AND 64),
    digest_minutes   smallint NOT NULL DEFAULT 0 CHECK (digest_minutes BETWEEN 0 AND 1440),
    -- Who is told after so many minutes of what is still open; 0 is never.
    escalate_minutes smallint NOT NULL DEFAULT 0 CHECK (escalate_minutes BETWEEN 0 AND 10080),
    escalate_to      uuid,
    updated_at       timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (workspace_id, account_id),
    FOREIGN KEY (workspace_id, account_id) REFERENCES membership(workspace_id, account_id) ON DELETE CASCADE,
    FOREIGN KEY (workspace_id, escalate_to) REFERENCES membership(workspace_id, account_id) ON DELETE SET NULL (escalate_to),
    CHECK ((quiet_from IS NULL) = (quiet_to IS NULL)),
    CHECK (quiet_from <> quiet_to),
    CHECK (escalate_to <> account_id)
);
CREATE INDEX notification_setting_to ON notification_setting (workspace_id, escalate_to) WHERE escalate_to IS NOT NULL;

-- How a channel of a person does: what the person's page says of it.
CREATE TABLE notification_channel (
    workspace_id  uuid NOT NULL,
    account_id    uuid NOT NULL,
    channel       text NOT NULL CHECK (channel IN ('browser', 'email', 'webhook')),
    sent_at       timestamptz,
    -- Since when nothing has arrived, and why; NULL and '' while all does.
    failing_since timestamptz,
    error         text NOT NULL DEFAULT '' CHECK (char_length(error) <= 300),
    PRIMARY KEY (workspace_id, account_id, channel),
    FOREIGN KEY (workspace_id, account_id) REFERENCES membership(workspace_id, account_id) ON DELETE CASCADE
);

-- A browser that shows a member's messages. Its address and keys are sealed: who has them can send.
CREATE TABLE push_subscription (
    workspace_id  uuid NOT NULL,
    id            uuid NOT NULL,
    account_id    uuid NOT NULL,
    -- SHA-256 of the address.
    endpoint_hash bytea NOT NULL,
    sealed        bytea NOT NULL,
    -- The server's key that the browser takes messages of.
    server_key    text NOT NULL CHECK (char_length(server_key) <= 100),
    browser       text NOT NULL CHECK (char_length(browser) <= 100),
    created_at    timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (workspace_id, id),
    CONSTRAINT push_subscription_endpoint UNIQUE (workspace_id, endpoint_hash),
    FOREIGN KEY (workspace_id, account_id) REFERENCES membership(workspace_id, account_id) ON DELETE CASCADE
);
CREATE INDEX push_subscription_account ON push_subscription (workspace_id, account_id, created_at);

-- An open decision that a member is told of, and for a day what became of it.
CREATE TABLE notification (
    workspace_id   uuid NOT NULL,
    account_id     uuid NOT NULL,
    -- Such as review:<id of the job>.
    decision       text NOT NULL CHECK (char_length(decision) <= 100),
    kind           text NOT NULL CHECK (kind IN ('review', 'question', 'failed', 'budget', 'agent_dead', 'stopped')),
    job_id         uuid,
    -- What it is about: another stamp is another thing to decide on.
    stamp          text NOT NULL CHECK (char_length(stamp) <= 200),
    title          text NOT NULL CHECK (char_length(title) <= 300),
    detail         text NOT NULL CHECK (char_length(detail) <= 500),
    path           text NOT NULL CHECK (char_length(path) <= 500),
    opened_at      timestamptz NOT NULL,
    closed_at      timestamptz,
    -- What became of it: "FB-2 was approved by Mara".
    outcome        text NOT NULL DEFAULT '' CHECK (char_length(outcome) <= 300),
    -- When the next person is told; NULL where nobody is, any more.
    escalate_at    timestamptz,
    -- The member who did not decide in time.
    escalated_from uuid,
    PRIMARY KEY (workspace_id, account_id, decision),
    FOREIGN KEY (workspace_id, account_id) REFERENCES membership(workspace_id, account_id) ON DELETE CASCADE,
    FOREIGN KEY (workspace_id, job_id) REFERENCES job(workspace_id, id) ON DELETE CASCADE
);
CREATE INDEX notification_open ON notification (workspace_id, account_id, decision) WHERE closed_at IS NULL;
CREATE INDEX notification_escalates ON notification (escalate_at) WHERE closed_at IS NULL AND escalate_at IS NOT NULL;
CREATE INDEX notification_closed ON notification (workspace_id, closed_at) WHERE closed_at IS NOT NULL;
CREATE INDEX notification_job ON notification (workspace_id, job_id) WHERE job_id IS NOT NULL;

-- The one message of a decision on a channel.
CREATE TABLE notification_delivery (
    workspace_id uuid NOT NULL,
    account_id   uuid NOT NULL,
    decision     text NOT NULL,
    channel      text NOT NULL CHECK (channel IN ('browser', 'email', 'webhook')),
    -- When it is to be sent, also anew; NULL where nothing is.
    due_at       timestamptz,
    -- Whoever sends it does until then.
    trying_until timestamptz,
    tries        smallint NOT NULL DEFAULT 0,
    -- What was sent last: a stamp, or 'closed'.
    sent_stamp   text,
    sent_at      timestamptz,
    -- The message that it was sent with, which later ones refer to.
    message_id   text NOT NULL DEFAULT '' CHECK (char_length(message_id) <= 100),
    PRIMARY KEY (workspace_id, account_id, decision, channel),
    FOREIGN KEY (workspace_id, account_id, decision) REFERENCES notification(workspace_id, account_id, decision) ON DELETE CASCADE
);
CREATE INDEX notification_delivery_due ON notification_delivery (due_at) WHERE due_at IS NOT NULL;

-- +goose StatementBegin
DO $$
DECLARE
    t text;
BEGIN
    FOREACH t IN ARRAY ARRAY['notification_setting', 'notification_channel', 'push_subscription', 'notification', 'notification_delivery']
    LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', t);
        EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', t);
        EXECUTE format('CREATE POLICY workspace ON %I TO fleetboard_app
            USING (workspace_id = (SELECT nullif(current_setting(''app.workspace_id'', true), '''')::uuid))
            WITH CHECK (workspace_id = (SELECT nullif(current_setting(''app.workspace_id'', true), '''')::uuid))', t);
        EXECUTE format('GRANT SELECT, INSERT, DELETE, UPDATE ON %I TO fleetboard_app', t);
    END LOOP;
    FOREACH t IN ARRAY ARRAY['notification_setting', 'notification', 'notification_delivery']
    LOOP
        EXECUTE format('CREATE POLICY system ON %I FOR SELECT TO fleetboard_system USING (true)', t);
    END LOOP;
END
$$;
-- +goose StatementEnd
GRANT SELECT (workspace_id) ON notification_setting TO fleetboard_system;
GRANT SELECT (workspace_id, closed_at, escalate_at) ON notification TO fleetboard_system;
GRANT SELECT (workspace_id, due_at, trying_until) ON notification_delivery TO fleetboard_system;
