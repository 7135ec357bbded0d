-- +goose Up

-- Whose token it is, and with which role, is told with the token, before its
-- workspace is known: its bearer sees the one membership that it stands for.
CREATE POLICY bearer ON membership FOR SELECT TO fleetboard_app
    USING ((workspace_id, account_id) = (SELECT t.workspace_id, t.account_id FROM access_token t
        WHERE t.token_hash = (SELECT decode(nullif(current_setting('app.token_hash', true), ''), 'hex'))));
