-- +goose Up

-- A person, in any number of workspaces.
CREATE TABLE account (
    id            uuid NOT NULL,
    email         text NOT NULL CHECK ((email = lower(email)) AND (char_length(email) BETWEEN 3 AND 254)),
    name          text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 100),
    -- PHC string, argon2id; empty until the set-up link was used, and then no
    -- password fits.
    password_hash text NOT NULL DEFAULT '',
    created_at    timestamptz NOT NULL DEFAULT now(),
    updated_at    timestamptz NOT NULL DEFAULT now(),
    session_epoch bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (id),
    UNIQUE (email)
);

-- Who a person is at an identity provider. People are known there by issuer and
-- subject and by nothing else: an e-mail can change hands.
CREATE TABLE account_identity (
    issuer       text NOT NULL CHECK (char_length(issuer) BETWEEN 1 AND 500),
    subject      text NOT NULL CHECK (octet_length(subject) BETWEEN 1 AND 255),
    account_id   uuid NOT NULL,
    -- What the provider said last, to be shown; empty where it says none.
    email        text NOT NULL DEFAULT '' CHECK (char_length(email) <= 254),
    created_at   timestamptz NOT NULL DEFAULT now(),
    last_used_at timestamptz,
    PRIMARY KEY (issuer, subject),
    CONSTRAINT account_identity_account UNIQUE (account_id, issuer),
    FOREIGN KEY (account_id) REFERENCES account(id) ON DELETE CASCADE
);

-- Log ins of an account, to know what is new: a browser that was not known, or a
-- network that the account did not come from lately. Those that are news are shown
-- until the person has said whose they were.
CREATE TABLE account_login (
    account_id uuid NOT NULL,
    id         uuid NOT NULL,
    at         timestamptz NOT NULL DEFAULT now(),
    address    text NOT NULL CHECK (char_length(address) <= 100),
    user_agent text NOT NULL CHECK (char_length(user_agent) <= 400),
    network    text NOT NULL CHECK (char_length(network) <= 100),
    -- Of a session; a row of before may be gone.
    session_id uuid,
    news       boolean NOT NULL,
    settled_at timestamptz,
    PRIMARY KEY (account_id, id),
    FOREIGN KEY (account_id) REFERENCES account(id) ON DELETE CASCADE
);
CREATE INDEX account_login_at ON account_login (at);

-- The second factor of an account. The secret is sealed with a key derived from
-- the server's; until it is confirmed nobody is asked for it.
CREATE TABLE account_totp (
    account_id   uuid NOT NULL,
    sealed       bytea NOT NULL,
    -- The time step of the last code that was taken: it and earlier ones are not
    -- taken again.
    last_step    bigint NOT NULL DEFAULT 0,
    created_at   timestamptz NOT NULL DEFAULT now(),
    confirmed_at timestamptz,
    PRIMARY KEY (account_id),
    FOREIGN KEY (account_id) REFERENCES account(id) ON DELETE CASCADE
);

-- Codes for the day the second factor is lost, each good once.
CREATE TABLE recovery_code (
    account_id uuid NOT NULL,
    code_hash  bytea NOT NULL,
    used_at    timestamptz,
    PRIMARY KEY (account_id, code_hash),
    FOREIGN KEY (account_id) REFERENCES account(id) ON DELETE CASCADE
);

-- A browser's session. A row that was ended stays until it would have expired:
-- a request that began before the log-out must not bring it back to life.
CREATE TABLE session (
    token_hash   bytea NOT NULL,
    account_id   uuid,
    data         bytea NOT NULL,
    ip           text NOT NULL DEFAULT '',
    user_agent   text NOT NULL DEFAULT '',
    created_at   timestamptz NOT NULL DEFAULT now(),
    last_seen_at timestamptz NOT NULL DEFAULT now(),
    expires_at   timestamptz NOT NULL,
    ended_at     timestamptz,
    -- A session has a name that may be shown; its token's hash may not. It stands
    -- for the account's sessions as of one epoch: all of them end at once by
    -- counting the account's on, also one that a log in under way is about to make.
    -- A half session knows the password and waits for the second factor.
    id           uuid NOT NULL DEFAULT gen_random_uuid(),
    epoch        bigint NOT NULL DEFAULT 0,
    half         boolean NOT NULL DEFAULT false,
    PRIMARY KEY (token_hash),
    UNIQUE (id),
    FOREIGN KEY (account_id) REFERENCES account(id) ON DELETE CASCADE
);
CREATE INDEX session_account ON session (account_id) WHERE (account_id IS NOT NULL);
CREATE INDEX session_expiry ON session (expires_at);

-- Failed log ins of an account name or an address, for the throttle. The
-- subject is a hash: nobody's address is kept.
CREATE TABLE login_throttle (
    subject        bytea NOT NULL,
    failures       integer NOT NULL CHECK (failures >= 0),
    last_failed_at timestamptz NOT NULL,
    PRIMARY KEY (subject)
);

-- Set-up links: whoever holds the token may name the account and give it a
-- password, once.
CREATE TABLE setup_link (
    token_hash bytea NOT NULL,
    account_id uuid NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz NOT NULL,
    used_at    timestamptz,
    PRIMARY KEY (token_hash),
    FOREIGN KEY (account_id) REFERENCES account(id) ON DELETE CASCADE
);

CREATE TABLE membership (
    workspace_id uuid NOT NULL,
    account_id   uuid NOT NULL,
    role         text NOT NULL CHECK (role IN ('owner', 'admin', 'member', 'viewer')),
    created_at   timestamptz NOT NULL DEFAULT now(),
    -- A member whom an owner has disabled keeps role, tokens and history, and can do
    -- nothing in the workspace until somebody enables him again.
    disabled_at  timestamptz,
    PRIMARY KEY (workspace_id, account_id),
    FOREIGN KEY (account_id) REFERENCES account(id) ON DELETE CASCADE,
    FOREIGN KEY (workspace_id) REFERENCES workspace(id) ON DELETE CASCADE
);
CREATE INDEX membership_account ON membership (account_id);

-- A link that makes its holder a member of the workspace, once. What is over
-- stays as a row; the log says what became of it.
CREATE TABLE invitation (
    workspace_id uuid NOT NULL,
    id           uuid NOT NULL,
    -- Whom it is for. Nothing is sent there, and who holds the link may use it.
    email        text NOT NULL CHECK ((email = lower(email)) AND (char_length(email) BETWEEN 3 AND 254)),
    role         text NOT NULL CHECK (role IN ('owner', 'admin', 'member', 'viewer')),
    -- SHA-256 of the whole token; the link is shown once and kept nowhere.
    token_hash   bytea NOT NULL,
    hint         text NOT NULL,
    -- The member who vouches for it: it ends when he may invite nobody any more.
    invited_by   uuid NOT NULL,
    created_at   timestamptz NOT NULL DEFAULT now(),
    expires_at   timestamptz NOT NULL,
    used_at      timestamptz,
    revoked_at   timestamptz,
    PRIMARY KEY (workspace_id, id),
    CONSTRAINT invitation_hash_key UNIQUE (token_hash),
    FOREIGN KEY (invited_by) REFERENCES account(id) ON DELETE CASCADE,
    FOREIGN KEY (workspace_id) REFERENCES workspace(id) ON DELETE CASCADE,
    CHECK ((used_at IS NULL) OR (revoked_at IS NULL))
);
-- One open link for a person.
CREATE UNIQUE INDEX invitation_open ON invitation (workspace_id, email) WHERE ((used_at IS NULL)
    AND (revoked_at IS NULL));

-- Each shows and takes only rows of the transaction's workspace. Outside a transaction
-- the setting is the empty string, hence nullif; the sub-select makes it evaluated
-- once, not per row.
-- +goose StatementBegin
DO $$
DECLARE
    t text;
BEGIN
    FOREACH t IN ARRAY ARRAY['membership', 'invitation']
    LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', t);
        EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', t);
        EXECUTE format('CREATE POLICY workspace ON %I TO fleetboard_app
            USING (workspace_id = (SELECT nullif(current_setting(''app.workspace_id'', true), '''')::uuid))
            WITH CHECK (workspace_id = (SELECT nullif(current_setting(''app.workspace_id'', true), '''')::uuid))', t);
    END LOOP;
END
$$;
-- +goose StatementEnd

GRANT SELECT, INSERT, DELETE, UPDATE ON account TO fleetboard_app;
GRANT SELECT, INSERT, DELETE, UPDATE ON account_identity TO fleetboard_app;
GRANT SELECT, INSERT, DELETE, UPDATE ON account_login TO fleetboard_app;
GRANT SELECT, INSERT, DELETE, UPDATE ON account_totp TO fleetboard_app;
GRANT SELECT, INSERT, DELETE, UPDATE ON recovery_code TO fleetboard_app;
GRANT SELECT, INSERT, DELETE, UPDATE ON session TO fleetboard_app;
GRANT SELECT, INSERT, DELETE, UPDATE ON login_throttle TO fleetboard_app;
GRANT SELECT, INSERT, DELETE, UPDATE ON setup_link TO fleetboard_app;
-- A person sees the own memberships, and the workspaces they lead to, before
-- one of them is chosen.
CREATE POLICY own ON membership FOR SELECT TO fleetboard_app
    USING ((account_id = (SELECT (nullif(current_setting('app.account_id', true), ''))::uuid)));
GRANT SELECT, INSERT, DELETE, UPDATE ON membership TO fleetboard_app;
-- A link is found by its hash, before its workspace is known.
CREATE POLICY bearer ON invitation FOR SELECT TO fleetboard_app
    USING ((token_hash = (SELECT decode(nullif(current_setting('app.token_hash', true), ''), 'hex'))));
GRANT SELECT, INSERT, UPDATE ON invitation TO fleetboard_app;
CREATE POLICY member ON workspace FOR SELECT TO fleetboard_app
    USING ((id IN (SELECT m.workspace_id
   FROM membership m
  WHERE (m.account_id = (SELECT (nullif(current_setting('app.account_id', true), ''))::uuid)))));

