-- +goose Up

-- A member whom an owner has disabled keeps role, tokens and history, and can do
-- nothing in the workspace until somebody enables him again.
ALTER TABLE membership ADD COLUMN disabled_at timestamptz;
-- Whether a member who logs in with a password needs a second factor.
ALTER TABLE workspace ADD COLUMN require_second_factor boolean NOT NULL DEFAULT false;

-- What the workspace asks of a token's person is told with the token.
CREATE POLICY bearer ON workspace FOR SELECT TO fleetboard_app
    USING (id = (SELECT t.workspace_id FROM access_token t
        WHERE t.token_hash = (SELECT decode(nullif(current_setting('app.token_hash', true), ''), 'hex'))));
