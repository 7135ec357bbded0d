-- +goose Up

-- What a job needs, interned: jobs with the same needs share a lane, so that
-- matching a job to an agent is equality of a number.
CREATE TABLE lane (
    workspace_id uuid NOT NULL REFERENCES workspace ON DELETE CASCADE,
    id           bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
    -- Sorted capabilities, repo:<name> among them.
    needs        text[] NOT NULL,
    -- The one factory that may run it; empty where any may.
    factory      text NOT NULL DEFAULT '',
    -- SHA-256 of needs and factory: the set's identity, whatever its length.
    digest       bytea NOT NULL,
    created_at   timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (workspace_id, id),
    CONSTRAINT lane_digest_key UNIQUE (workspace_id, digest)
);

-- The state of a job: what transitions read and write. What people write at
-- length is in job_text.
CREATE TABLE job (
    workspace_id          uuid NOT NULL REFERENCES workspace ON DELETE CASCADE,
    id                    uuid NOT NULL,
    key                   text NOT NULL CHECK (char_length(key) BETWEEN 1 AND 64),
    title                 text NOT NULL CHECK (char_length(title) BETWEEN 1 AND 200),
    kind                  text NOT NULL DEFAULT '' CHECK (char_length(kind) <= 64),
    product_id            uuid NOT NULL,
    repo                  text NOT NULL DEFAULT '' CHECK (char_length(repo) <= 128),
    phase                 text NOT NULL DEFAULT '' CHECK (char_length(phase) <= 64),
    priority              smallint NOT NULL DEFAULT 5 CHECK (priority BETWEEN 0 AND 10),
    capabilities          text[] NOT NULL DEFAULT '{}',
    factory               text NOT NULL DEFAULT '',
    lane_id               bigint NOT NULL,
    tags                  text[] NOT NULL DEFAULT '{}',

    status                text NOT NULL CHECK (status IN ('waiting', 'ready', 'assigned', 'running', 'paused',
        'blocked', 'in_review', 'approved', 'completed', 'failed', 'aborted', 'archived')),
    wait_reason           text NOT NULL DEFAULT '' CHECK (wait_reason IN ('', 'dependency', 'not_before',
        'retry_backoff', 'budget', 'repo_busy', 'review_backlog')),
    blocked_reason        text NOT NULL DEFAULT '',
    question              text NOT NULL DEFAULT '',
    answer                text NOT NULL DEFAULT '',
    status_by             text NOT NULL DEFAULT '',
    status_at             timestamptz NOT NULL DEFAULT now(),

    -- Rises with each claim and is never reset: the fence of every lease.
    epoch                 bigint NOT NULL DEFAULT 0 CHECK (epoch >= 0),
    attempts              integer NOT NULL DEFAULT 0,
    failure_count         integer NOT NULL DEFAULT 0,
    lost_count            integer NOT NULL DEFAULT 0,
    max_retries           integer NOT NULL DEFAULT 3 CHECK (max_retries BETWEEN 0 AND 100),
    max_lost              integer NOT NULL DEFAULT 5 CHECK (max_lost BETWEEN 0 AND 100),
    retry_backoff_seconds integer NOT NULL DEFAULT 300 CHECK (retry_backoff_seconds BETWEEN 0 AND 86400),
    last_error            text NOT NULL DEFAULT '',
    feedback              text NOT NULL DEFAULT '',
    progress_percent      smallint CHECK (progress_percent BETWEEN 0 AND 100),
    current_step          text NOT NULL DEFAULT '',
    checkpoint            jsonb,
    result                jsonb,
    -- NULL takes the product's policy.
    review_required       boolean,
    estimated_complexity  text NOT NULL DEFAULT '' CHECK (char_length(estimated_complexity) <= 32),
    estimated_minutes     integer CHECK (estimated_minutes BETWEEN 1 AND 100000),
    token_budget          bigint CHECK (token_budget > 0),

    not_before            timestamptz,
    idempotency_key       text CHECK (char_length(idempotency_key) BETWEEN 1 AND 255),
    version               integer NOT NULL DEFAULT 1,
    created_by            text NOT NULL,
    created_at            timestamptz NOT NULL DEFAULT now(),
    updated_at            timestamptz NOT NULL DEFAULT now(),
    ready_at              timestamptz,
    assigned_at           timestamptz,
    started_at            timestamptz,
    completed_at          timestamptz,
    failed_at             timestamptz,

    PRIMARY KEY (workspace_id, id),
    CONSTRAINT job_key_key UNIQUE (workspace_id, key),
    FOREIGN KEY (workspace_id, product_id) REFERENCES product,
    FOREIGN KEY (workspace_id, lane_id) REFERENCES lane,
    CHECK ((status = 'waiting') = (wait_reason <> '')),
    CHECK ((status = 'completed') <= (completed_at IS NOT NULL)),
    CHECK ((status IN ('failed', 'aborted')) <= (failed_at IS NOT NULL))
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 1);

CREATE UNIQUE INDEX job_idempotency_key ON job (workspace_id, idempotency_key) WHERE idempotency_key IS NOT NULL;
-- Columns of the board, most urgent first; finished jobs newest first.
CREATE INDEX job_board_open ON job (workspace_id, status, priority DESC, status_at, id)
    WHERE status IN ('waiting', 'ready', 'assigned', 'running', 'paused', 'blocked', 'in_review', 'approved');
CREATE INDEX job_board_finished ON job (workspace_id, status, status_at DESC, id)
    WHERE status IN ('completed', 'failed', 'aborted');
CREATE INDEX job_updated ON job (workspace_id, updated_at, id);
-- What a clock will make ready.
CREATE INDEX job_due ON job (not_before) WHERE status = 'waiting' AND not_before IS NOT NULL;

CREATE TABLE job_text (
    workspace_id  uuid NOT NULL,
    job_id        uuid NOT NULL,
    body          text NOT NULL DEFAULT '',
    -- Array of strings.
    acceptance    jsonb NOT NULL DEFAULT '[]',
    input_context jsonb NOT NULL DEFAULT '{}',
    PRIMARY KEY (workspace_id, job_id),
    FOREIGN KEY (workspace_id, job_id) REFERENCES job ON DELETE CASCADE
);

-- One narrow row exactly while a job is claimable. The claim is the top of
-- job_ready_claim, whatever else the workspace holds.
CREATE TABLE job_ready (
    workspace_id uuid NOT NULL,
    lane_id      bigint NOT NULL,
    priority     smallint NOT NULL,
    ready_at     timestamptz NOT NULL,
    job_id       uuid NOT NULL,
    PRIMARY KEY (workspace_id, job_id),
    FOREIGN KEY (workspace_id, job_id) REFERENCES job ON DELETE CASCADE
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 200,
        autovacuum_vacuum_cost_delay = 0, autovacuum_analyze_scale_factor = 0.2);
CREATE INDEX job_ready_claim ON job_ready (workspace_id, lane_id, priority DESC, ready_at, job_id);

-- One row exactly while a job is assigned or running. Progress is written here,
-- not on the job: a new claim starts with a new row, so nothing of the last
-- lease can be taken for news of this one.
CREATE TABLE job_lease (
    workspace_id     uuid NOT NULL,
    job_id           uuid NOT NULL,
    epoch            bigint NOT NULL,
    agent_id         uuid NOT NULL,
    factory_id       uuid NOT NULL,
    session_key      text NOT NULL DEFAULT '',
    request_id       text NOT NULL DEFAULT '',
    ttl_seconds      integer NOT NULL CHECK (ttl_seconds BETWEEN 10 AND 86400),
    claimed_at       timestamptz NOT NULL DEFAULT now(),
    expires_at       timestamptz NOT NULL,
    progress_percent smallint CHECK (progress_percent BETWEEN 0 AND 100),
    current_step     text NOT NULL DEFAULT '',
    progress_at      timestamptz,
    checkpoint       jsonb,
    -- What the agent is asked to do: '', warn, pause, cancel, drain.
    directive        text NOT NULL DEFAULT '' CHECK (directive IN ('', 'warn', 'pause', 'cancel', 'drain')),
    directive_reason text NOT NULL DEFAULT '',
    directive_by     text NOT NULL DEFAULT '',
    -- When the directive is carried out without the agent.
    grace_ends_at    timestamptz,
    PRIMARY KEY (workspace_id, job_id),
    FOREIGN KEY (workspace_id, job_id) REFERENCES job ON DELETE CASCADE,
    FOREIGN KEY (workspace_id, agent_id) REFERENCES agent,
    FOREIGN KEY (workspace_id, factory_id) REFERENCES factory
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 200,
        autovacuum_vacuum_cost_delay = 0);
CREATE INDEX job_lease_agent ON job_lease (workspace_id, agent_id);
CREATE INDEX job_lease_factory ON job_lease (workspace_id, factory_id);

-- The record of one lease, from claim to end, kept for ever.
CREATE TABLE attempt (
    workspace_id     uuid NOT NULL,
    job_id           uuid NOT NULL,
    epoch            bigint NOT NULL,
    -- Names as they were: an agent may be renamed or removed later.
    agent            text NOT NULL,
    factory          text NOT NULL,
    model            text NOT NULL DEFAULT '',
    session_key      text NOT NULL DEFAULT '',
    claimed_at       timestamptz NOT NULL DEFAULT now(),
    started_at       timestamptz,
    ended_at         timestamptz,
    outcome          text NOT NULL DEFAULT '' CHECK (outcome IN ('', 'completed', 'failed', 'released', 'lost',
        'cancelled', 'paused', 'asked', 'blocked', 'timeout')),
    error            text NOT NULL DEFAULT '',
    error_kind       text NOT NULL DEFAULT '',
    progress_percent smallint,
    current_step     text NOT NULL DEFAULT '',
    checkpoint       jsonb,
    result           jsonb,
    -- SHA-256 of the completing request: the same request again gets the same answer.
    result_digest    bytea,
    PRIMARY KEY (workspace_id, job_id, epoch),
    FOREIGN KEY (workspace_id, job_id) REFERENCES job ON DELETE CASCADE,
    CHECK ((outcome = '') = (ended_at IS NULL))
) WITH (fillfactor = 80);

CREATE TABLE job_dependency (
    workspace_id  uuid NOT NULL,
    job_id        uuid NOT NULL,
    depends_on_id uuid NOT NULL,
    -- blocks gates; the others inform.
    type          text NOT NULL DEFAULT 'blocks' CHECK (type IN ('blocks', 'parent', 'discovered_from',
        'duplicates', 'supersedes')),
    created_by    text NOT NULL,
    created_at    timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (workspace_id, job_id, depends_on_id, type),
    FOREIGN KEY (workspace_id, job_id) REFERENCES job ON DELETE CASCADE,
    FOREIGN KEY (workspace_id, depends_on_id) REFERENCES job ON DELETE CASCADE,
    CHECK (job_id <> depends_on_id)
);
CREATE INDEX job_dependency_reverse ON job_dependency (workspace_id, depends_on_id, job_id);

-- The answer that a creating request got, for its repetition within a day.
CREATE TABLE idempotent_request (
    workspace_id uuid NOT NULL REFERENCES workspace ON DELETE CASCADE,
    key          text NOT NULL CHECK (char_length(key) BETWEEN 1 AND 255),
    -- SHA-256 of operation and body.
    digest       bytea NOT NULL,
    job_ids      uuid[] NOT NULL,
    created_at   timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT idempotent_request_pkey PRIMARY KEY (workspace_id, key)
);
CREATE INDEX idempotent_request_age ON idempotent_request (workspace_id, created_at);
-- The phases in use, found by skipping from one to the next.
CREATE INDEX job_phase ON job (workspace_id, phase);
