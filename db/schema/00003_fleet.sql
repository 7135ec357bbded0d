-- +goose Up

CREATE TABLE product (
    workspace_id     uuid NOT NULL REFERENCES workspace ON DELETE CASCADE,
    id               uuid NOT NULL,
    name             text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 64),
    review_required  boolean NOT NULL DEFAULT false,
    one_job_per_repo boolean NOT NULL DEFAULT false,
    review_limit     integer CHECK (review_limit > 0),
    paused           boolean NOT NULL DEFAULT false,
    created_at       timestamptz NOT NULL DEFAULT now(),
    updated_at       timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (workspace_id, id),
    CONSTRAINT product_name_key UNIQUE (workspace_id, name)
);

-- A repo belongs to one product at most.
CREATE TABLE product_repo (
    workspace_id uuid NOT NULL,
    repo         text NOT NULL CHECK (char_length(repo) BETWEEN 1 AND 128),
    product_id   uuid NOT NULL,
    PRIMARY KEY (workspace_id, repo),
    FOREIGN KEY (workspace_id, product_id) REFERENCES product ON DELETE CASCADE
);
CREATE INDEX product_repo_product ON product_repo (workspace_id, product_id);

-- A worker host, as its agents last described it.
CREATE TABLE factory (
    workspace_id uuid NOT NULL REFERENCES workspace ON DELETE CASCADE,
    id           uuid NOT NULL,
    name         text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 64),
    os           text NOT NULL DEFAULT '',
    host         text NOT NULL DEFAULT '',
    engines      text[] NOT NULL DEFAULT '{}',
    capabilities text[] NOT NULL DEFAULT '{}',
    -- [{name, url, default_branch}]
    repos        jsonb NOT NULL DEFAULT '[]',
    seats        integer NOT NULL DEFAULT 1 CHECK (seats BETWEEN 1 AND 1000),
    -- No new claims; current jobs may end.
    draining     boolean NOT NULL DEFAULT false,
    drained_by   text NOT NULL DEFAULT '',
    drained_at   timestamptz,
    created_at   timestamptz NOT NULL DEFAULT now(),
    updated_at   timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (workspace_id, id),
    CONSTRAINT factory_name_key UNIQUE (workspace_id, name),
    CHECK (draining = (drained_at IS NOT NULL))
);

-- Heartbeats rewrite this row: half the page is left free and no index stands
-- on what they change, so that the new row fits beside the old one.
CREATE TABLE agent (
    workspace_id               uuid NOT NULL,
    id                         uuid NOT NULL,
    factory_id                 uuid NOT NULL,
    name                       text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 64),
    model                      text NOT NULL DEFAULT '',
    capabilities               text[] NOT NULL DEFAULT '{}',
    max_concurrent_jobs        integer NOT NULL DEFAULT 1 CHECK (max_concurrent_jobs BETWEEN 1 AND 100),
    heartbeat_interval_seconds integer NOT NULL DEFAULT 10 CHECK (heartbeat_interval_seconds BETWEEN 1 AND 3600),
    stale_after_seconds        integer CHECK (stale_after_seconds BETWEEN 1 AND 86400),
    boot_id                    text NOT NULL CHECK (char_length(boot_id) BETWEEN 1 AND 128),
    -- Scope of the enrolment token it registered with.
    products                   text[] NOT NULL DEFAULT '{}',
    status                     text NOT NULL DEFAULT 'idle' CHECK (status IN ('idle', 'working', 'blocked')),
    memory_mb                  integer,
    cpu_percent                real,
    last_heartbeat_at          timestamptz NOT NULL DEFAULT now(),
    -- Set when a person ended the agent: no claims from then on.
    terminated_at              timestamptz,
    terminate_reason           text NOT NULL DEFAULT '',
    created_at                 timestamptz NOT NULL DEFAULT now(),
    registered_at              timestamptz NOT NULL DEFAULT now(),
    -- 30 missed intervals, or three times the agent's own stale time (product.md section 2).
    dead_after_seconds         integer NOT NULL GENERATED ALWAYS AS
        (coalesce(stale_after_seconds * 3, heartbeat_interval_seconds * 30)) STORED,
    PRIMARY KEY (workspace_id, id),
    CONSTRAINT agent_name_key UNIQUE (workspace_id, name),
    FOREIGN KEY (workspace_id, factory_id) REFERENCES factory ON DELETE CASCADE
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500,
        autovacuum_vacuum_cost_delay = 0);
CREATE INDEX agent_factory ON agent (workspace_id, factory_id);
