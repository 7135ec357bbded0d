-- +goose Up

-- A session has a name that may be shown; its token's hash may not. It stands
-- for the account's sessions as of one epoch: all of them end at once by
-- counting the account's on, also one that a log in under way is about to make.
-- A half session knows the password and waits for the second factor.
ALTER TABLE session
    ADD COLUMN id    uuid NOT NULL DEFAULT gen_random_uuid() CONSTRAINT session_id_key UNIQUE,
    ADD COLUMN epoch bigint NOT NULL DEFAULT 0,
    ADD COLUMN half  boolean NOT NULL DEFAULT false;
ALTER TABLE account ADD COLUMN session_epoch bigint NOT NULL DEFAULT 0;

-- The second factor of an account. The secret is sealed with a key derived from
-- the server's; until it is confirmed nobody is asked for it.
CREATE TABLE account_totp (
    account_id   uuid PRIMARY KEY REFERENCES account ON DELETE CASCADE,
    sealed       bytea NOT NULL,
    -- The time step of the last code that was taken: it and earlier ones are not
    -- taken again.
    last_step    bigint NOT NULL DEFAULT 0,
    created_at   timestamptz NOT NULL DEFAULT now(),
    confirmed_at timestamptz
);

-- Codes for the day the second factor is lost, each good once.
CREATE TABLE recovery_code (
    account_id uuid NOT NULL REFERENCES account ON DELETE CASCADE,
    code_hash  bytea NOT NULL,
    used_at    timestamptz,
    PRIMARY KEY (account_id, code_hash)
);

GRANT SELECT, INSERT, UPDATE, DELETE ON account_totp, recovery_code TO fleetboard_app;
