-- +goose Up

-- Log ins of an account, to know what is new: a browser that was not known, or a
-- network that the account did not come from lately. Those that are news are shown
-- until the person has said whose they were.
CREATE TABLE account_login (
    account_id uuid NOT NULL REFERENCES account ON DELETE CASCADE,
    id         uuid NOT NULL,
    at         timestamptz NOT NULL DEFAULT now(),
    address    text NOT NULL CHECK (char_length(address) <= 100),
    user_agent text NOT NULL CHECK (char_length(user_agent) <= 400),
    network    text NOT NULL CHECK (char_length(network) <= 100),
    -- Of a session; a row of before may be gone.
    session_id uuid,
    news       boolean NOT NULL,
    settled_at timestamptz,
    PRIMARY KEY (account_id, id)
);
CREATE INDEX account_login_at ON account_login (at);

GRANT SELECT, INSERT, UPDATE, DELETE ON account_login TO fleetboard_app;
