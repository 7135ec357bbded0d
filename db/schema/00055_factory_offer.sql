-- +goose Up

SELECT add_event_types('agent.ended');

-- What a host does not offer though it could, and why: [{kind, name, reason, since}]; and what
-- it has moved aside because it could not be saved otherwise: [{name, path, why, since}].
-- ended_at is when its last agent said that it ends; it is empty again as soon as one registers.
ALTER TABLE factory
    ADD COLUMN unavailable jsonb NOT NULL DEFAULT '[]',
    ADD COLUMN rescued     jsonb NOT NULL DEFAULT '[]',
    ADD COLUMN ended_at    timestamptz;

-- host is where the agent registered last: agents of one factory live on one host.
-- An agent that has_ended said so, or has lost its factory to another host: it is given nothing
-- until it registers again, also as the same boot.
ALTER TABLE agent
    ADD COLUMN host         text NOT NULL DEFAULT '' CHECK (char_length(host) <= 255),
    ADD COLUMN has_ended boolean NOT NULL DEFAULT false;
ALTER TABLE agent ADD CONSTRAINT agent_has_ended_check CHECK (NOT has_ended OR terminated_at IS NOT NULL);
