-- +goose Up

-- Who a person is at an identity provider. People are known there by issuer and
-- subject and by nothing else: an e-mail can change hands.
CREATE TABLE account_identity (
    issuer       text NOT NULL CHECK (char_length(issuer) BETWEEN 1 AND 500),
    subject      text NOT NULL CHECK (octet_length(subject) BETWEEN 1 AND 255),
    account_id   uuid NOT NULL REFERENCES account ON DELETE CASCADE,
    -- What the provider said last, to be shown; empty where it says none.
    email        text NOT NULL DEFAULT '' CHECK (char_length(email) <= 254),
    created_at   timestamptz NOT NULL DEFAULT now(),
    last_used_at timestamptz,
    PRIMARY KEY (issuer, subject),
    -- One at each provider.
    CONSTRAINT account_identity_account UNIQUE (account_id, issuer)
);

GRANT SELECT, INSERT, UPDATE, DELETE ON account_identity TO fleetboard_app;
