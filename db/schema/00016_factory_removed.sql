-- +goose Up

SELECT add_event_types('factory.removed');

-- A person's word about an agent's factory ends the agent's tokens too.
ALTER TABLE revocation DROP CONSTRAINT revocation_reason_check;
ALTER TABLE revocation ADD CONSTRAINT revocation_reason_check CHECK (reason IN ('revoked', 'cut_off', 'superseded', 'removed'));
