-- +goose Up

-- What a job needs, interned: jobs with the same needs share a lane, so that
-- matching a job to an agent is equality of a number.
CREATE TABLE lane (
    workspace_id uuid NOT NULL,
    id           bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
    -- Sorted capabilities, repo:<name> among them.
    needs        text[] NOT NULL,
    -- The one factory that may run it; empty where any may.
    factory      text NOT NULL DEFAULT '',
    -- SHA-256 of needs and factory: the set's identity, whatever its length.
    digest       bytea NOT NULL,
    created_at   timestamptz NOT NULL DEFAULT now(),
    product_id   uuid NOT NULL,
    PRIMARY KEY (workspace_id, id),
    CONSTRAINT lane_digest_key UNIQUE (workspace_id, digest),
    FOREIGN KEY (workspace_id) REFERENCES workspace(id) ON DELETE CASCADE,
    FOREIGN KEY (workspace_id, product_id) REFERENCES product(workspace_id, id) ON DELETE CASCADE
);

-- The state of a job: what transitions read and write. What people write at
-- length is in job_text.
CREATE TABLE job (
    workspace_id          uuid NOT NULL,
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
    -- Whether the job cannot be completed while a child of it is open.
    waits_for_children    boolean NOT NULL DEFAULT false,
    -- Which files a job means to touch (globs), and what came of it: the files that its
    -- agent touched, the commit that was approved, the one that it was merged as, where
    -- that is to be seen, and of which kind its last failure was.
    files                 text[] NOT NULL DEFAULT '{}' CHECK (cardinality(files) <= 100),
    files_touched         text[] NOT NULL DEFAULT '{}' CHECK (cardinality(files_touched) <= 1000),
    failure_kind          text NOT NULL DEFAULT '' CHECK (failure_kind IN ('', 'timeout', 'budget_exceeded', 'crash',
        'checks_failed', 'capability_mismatch', 'engine_missing', 'rate_limited', 'merge_conflict', 'clone_failed',
        'other')),
    approved_head         text NOT NULL DEFAULT '' CHECK (char_length(approved_head) <= 100),
    merged_commit         text NOT NULL DEFAULT '' CHECK (char_length(merged_commit) <= 100),
    url                   text NOT NULL DEFAULT '' CHECK (char_length(url) <= 2000),
    -- status_by is who decided on the status, with kind and id as in the log; both ''
    -- in rows that were written before. Who carried it out is kept where that was
    -- somebody else: {kind, id, name}.
    status_by_kind        text NOT NULL DEFAULT '',
    status_by_id          text NOT NULL DEFAULT '',
    carried_out_by        jsonb,
    PRIMARY KEY (workspace_id, id),
    CONSTRAINT job_key_key UNIQUE (workspace_id, key),
    FOREIGN KEY (workspace_id) REFERENCES workspace(id) ON DELETE CASCADE,
    FOREIGN KEY (workspace_id, lane_id) REFERENCES lane(workspace_id, id),
    FOREIGN KEY (workspace_id, product_id) REFERENCES product(workspace_id, id),
    CHECK ((status = 'waiting') = (wait_reason <> '')),
    CHECK ((status = 'completed') <= (completed_at IS NOT NULL)),
    CHECK ((status IN ('failed', 'aborted')) <= (failed_at IS NOT NULL))
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 1000,
    autovacuum_vacuum_cost_delay = 1, autovacuum_analyze_scale_factor = 0.05);
CREATE INDEX job_board_finished ON job (workspace_id, status, status_at DESC, id DESC) WHERE (status IN ('completed',
    'failed', 'aborted'));
-- Columns of the board, most urgent first; finished jobs newest first.
CREATE INDEX job_board_open ON job (workspace_id, status, priority DESC, status_at, id) WHERE (status IN ('waiting',
    'ready', 'assigned', 'running', 'paused', 'blocked', 'in_review', 'approved'));
-- What a clock will make ready.
CREATE INDEX job_due ON job (not_before) WHERE ((status = 'waiting') AND (not_before IS NOT NULL));
CREATE INDEX job_held_product ON job (workspace_id, product_id, wait_reason, priority DESC, status_at,
    id) WHERE ((status = 'waiting') AND (wait_reason IN ('repo_busy', 'review_backlog')));
CREATE INDEX job_held_repo ON job (workspace_id, repo, priority DESC, status_at, id) WHERE ((status = 'waiting')
    AND (wait_reason = 'repo_busy'));
CREATE UNIQUE INDEX job_idempotency_key ON job (workspace_id, idempotency_key) WHERE (idempotency_key IS NOT NULL);
-- A product's review backlog.
CREATE INDEX job_in_review ON job (workspace_id, product_id) WHERE (status = 'in_review');
CREATE INDEX job_lane_finished ON job (workspace_id, lane_id, status, status_at DESC,
    id DESC) WHERE (status IN ('completed', 'failed', 'aborted'));
-- The columns of the board by lane: what a product, a repo or a named factory
-- has of them, however much others have. Only rows that wait or are over are in
-- there, so that a claim writes into neither.
CREATE INDEX job_lane_open ON job (workspace_id, lane_id, status, priority DESC, status_at,
    id) WHERE (status IN ('waiting', 'ready'));
-- The phases in use, found by skipping from one to the next.
CREATE INDEX job_phase ON job (workspace_id, phase) WHERE (phase <> '');
-- The review queue, the oldest first.
CREATE INDEX job_review ON job (workspace_id, status, status_at, id) WHERE (status IN ('in_review', 'approved'));
CREATE INDEX job_updated ON job (workspace_id, updated_at, id);
-- What waits for other jobs, for the sweeps that look whether it still has to:
-- without it they read every job that ever was.
CREATE INDEX job_waits ON job (workspace_id, id) WHERE ((status = 'waiting') AND (wait_reason = 'dependency'));

CREATE TABLE job_text (
    workspace_id   uuid NOT NULL,
    job_id         uuid NOT NULL,
    body           text NOT NULL DEFAULT '',
    -- Array of strings.
    acceptance     jsonb NOT NULL DEFAULT '[]',
    input_context  jsonb NOT NULL DEFAULT '{}',
    -- Which acceptance criteria a person ticked: booleans beside job_text.acceptance.
    acceptance_met jsonb NOT NULL DEFAULT '[]',
    -- Which keys of input_context are secret: a job without any costs nobody a look
    -- into job_secret.
    secret_keys    text[] NOT NULL DEFAULT '{}',
    PRIMARY KEY (workspace_id, job_id)
);

CREATE TABLE job_dependency (
    workspace_id  uuid NOT NULL,
    job_id        uuid NOT NULL,
    depends_on_id uuid NOT NULL,
    -- blocks gates; the others inform.
    type          text NOT NULL DEFAULT 'blocks' CHECK (type IN ('blocks', 'gate', 'parent', 'discovered_from',
        'duplicates', 'supersedes')),
    created_by    text NOT NULL,
    created_at    timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (workspace_id, job_id, depends_on_id, type),
    FOREIGN KEY (workspace_id, depends_on_id) REFERENCES job(workspace_id, id) ON DELETE CASCADE,
    FOREIGN KEY (workspace_id, job_id) REFERENCES job(workspace_id, id) ON DELETE CASCADE,
    CHECK (job_id <> depends_on_id)
);
CREATE INDEX job_dependency_reverse ON job_dependency (workspace_id, depends_on_id, job_id);

-- The next number of a job's key, apart from workspace so that creating jobs
-- never waits for somebody who renames the workspace.
CREATE TABLE job_number (
    workspace_id uuid NOT NULL,
    next         bigint NOT NULL DEFAULT 1 CHECK (next > 0),
    PRIMARY KEY (workspace_id),
    FOREIGN KEY (workspace_id) REFERENCES workspace(id) ON DELETE CASCADE
);

-- What a job with an idempotency key of its own was asked for as, so that the key
-- with another content is told from a repetition. Jobs of before have no row.
CREATE TABLE job_request (
    workspace_id uuid NOT NULL,
    job_id       uuid NOT NULL,
    -- Keyed, since what was asked for may hold secrets.
    digest       bytea NOT NULL,
    PRIMARY KEY (workspace_id, job_id),
    FOREIGN KEY (workspace_id, job_id) REFERENCES job(workspace_id, id) ON DELETE CASCADE
);

-- The answer that a creating request got, for its repetition within a day.
CREATE TABLE idempotent_request (
    workspace_id uuid NOT NULL,
    key          text NOT NULL CHECK (char_length(key) BETWEEN 1 AND 255),
    -- SHA-256 of operation and body.
    digest       bytea NOT NULL,
    job_ids      uuid[] NOT NULL,
    created_at   timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (workspace_id, key),
    FOREIGN KEY (workspace_id) REFERENCES workspace(id) ON DELETE CASCADE
);
CREATE INDEX idempotent_request_age ON idempotent_request (workspace_id, created_at);

-- Each shows and takes only rows of the transaction's workspace. Outside a transaction
-- the setting is the empty string, hence nullif; the sub-select makes it evaluated
-- once, not per row.
-- +goose StatementBegin
DO $$
DECLARE
    t text;
BEGIN
    FOREACH t IN ARRAY ARRAY['lane', 'job', 'job_text', 'job_dependency', 'job_number', 'job_request',
        'idempotent_request']
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

GRANT SELECT, INSERT ON lane TO fleetboard_app;
CREATE POLICY system ON job FOR SELECT TO fleetboard_system
    USING (true);
GRANT SELECT, INSERT, DELETE, UPDATE ON job TO fleetboard_app;
GRANT SELECT (workspace_id, id, status, wait_reason, estimated_minutes, not_before) ON job TO fleetboard_system;
GRANT SELECT, INSERT, DELETE, UPDATE ON job_text TO fleetboard_app;
GRANT SELECT, INSERT, DELETE, UPDATE ON job_dependency TO fleetboard_app;
GRANT SELECT, INSERT, DELETE, UPDATE ON job_number TO fleetboard_app;
GRANT SELECT, INSERT ON job_request TO fleetboard_app;
GRANT SELECT, INSERT, DELETE, UPDATE ON idempotent_request TO fleetboard_app;

