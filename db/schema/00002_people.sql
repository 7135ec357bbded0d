-- +goose Up

CREATE TABLE workspace (
    id         uuid PRIMARY KEY,
    slug       text NOT NULL CONSTRAINT workspace_slug_key UNIQUE
        CHECK (slug ~ '^[a-z0-9][a-z0-9-]{0,62}$'),
    name       text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 100),
    -- Keys of jobs are this prefix, a dash and a number.
    job_prefix text NOT NULL DEFAULT 'FB' CHECK (job_prefix ~ '^[A-Z][A-Z0-9]{0,9}$'),
    created_at timestamptz NOT NULL DEFAULT now()
);

-- The next number of a job's key, apart from workspace so that creating jobs
-- never waits for somebody who renames the workspace.
CREATE TABLE job_number (
    workspace_id uuid PRIMARY KEY REFERENCES workspace ON DELETE CASCADE,
    next         bigint NOT NULL DEFAULT 1 CHECK (next > 0)
);

-- A person, in any number of workspaces.
CREATE TABLE account (
    id            uuid PRIMARY KEY,
    email         text NOT NULL CHECK (email = lower(email) AND char_length(email) BETWEEN 3 AND 254),
    name          text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 100),
    -- PHC string, argon2id; empty until the set-up link was used, and then no
    -- password fits.
    password_hash text NOT NULL DEFAULT '',
    created_at    timestamptz NOT NULL DEFAULT now(),
    updated_at    timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT account_email_key UNIQUE (email)
);

CREATE TABLE membership (
    workspace_id uuid NOT NULL REFERENCES workspace ON DELETE CASCADE,
    account_id   uuid NOT NULL REFERENCES account ON DELETE CASCADE,
    role         text NOT NULL CHECK (role IN ('owner', 'admin', 'member', 'viewer')),
    created_at   timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (workspace_id, account_id)
);
CREATE INDEX membership_account ON membership (account_id);

-- A browser's session. A row that was ended stays until it would have expired:
-- a request that began before the log-out must not bring it back to life.
CREATE TABLE session (
    token_hash   bytea PRIMARY KEY,
    account_id   uuid REFERENCES account ON DELETE CASCADE,
    data         bytea NOT NULL,
    ip           text NOT NULL DEFAULT '',
    user_agent   text NOT NULL DEFAULT '',
    created_at   timestamptz NOT NULL DEFAULT now(),
    last_seen_at timestamptz NOT NULL DEFAULT now(),
    expires_at   timestamptz NOT NULL,
    ended_at     timestamptz
);
CREATE INDEX session_account ON session (account_id) WHERE account_id IS NOT NULL;
CREATE INDEX session_expiry ON session (expires_at);

-- Failed log ins of an account name or an address, for the throttle. The
-- subject is a hash: nobody's address is kept.
CREATE TABLE login_throttle (
    subject         bytea PRIMARY KEY,
    failures        integer NOT NULL CHECK (failures >= 0),
    last_failed_at  timestamptz NOT NULL
);

-- Set-up links: whoever holds the token may name the account and give it a
-- password, once.
CREATE TABLE setup_link (
    token_hash bytea PRIMARY KEY,
    account_id uuid NOT NULL REFERENCES account ON DELETE CASCADE,
    created_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz NOT NULL,
    used_at    timestamptz
);

CREATE TABLE access_token (
    workspace_id uuid NOT NULL REFERENCES workspace ON DELETE CASCADE,
    id           uuid NOT NULL,
    kind         text NOT NULL CHECK (kind IN ('person', 'enrolment')),
    name         text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 100),
    -- SHA-256 of the whole token; the token itself is shown once and kept nowhere.
    token_hash   bytea NOT NULL CONSTRAINT access_token_hash_key UNIQUE,
    hint         text NOT NULL,
    account_id   uuid REFERENCES account ON DELETE CASCADE,
    -- Scope; empty limits nothing.
    products     text[] NOT NULL DEFAULT '{}',
    capabilities text[] NOT NULL DEFAULT '{}',
    factory      text NOT NULL DEFAULT '',
    created_by   text NOT NULL,
    created_at   timestamptz NOT NULL DEFAULT now(),
    expires_at   timestamptz,
    last_used_at timestamptz,
    revoked_at   timestamptz,
    PRIMARY KEY (workspace_id, id),
    CHECK ((kind = 'person') = (account_id IS NOT NULL))
);
