-- +goose Up
SELECT add_event_types('budget.created', 'budget.changed', 'budget.removed', 'budget.raised', 'budget.transferred',
    'budget.threshold_reached', 'budget.will_run_out', 'budget.stopped');

-- What may be spent on a workspace, a product, a milestone (a phase, of one product or
-- of all) or a job, in each period.
CREATE TABLE budget (
    workspace_id uuid NOT NULL,
    id           uuid NOT NULL,
    name         text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 100),
    scope        text NOT NULL CHECK (scope IN ('workspace', 'product', 'milestone', 'job')),
    product_id   uuid,
    phase        text NOT NULL DEFAULT '' CHECK (char_length(phase) <= 64),
    job_id       uuid,
    -- The scope as one word, by which the budgets of a job are found: see budget_scopes.
    scope_key    text NOT NULL,
    period       text NOT NULL CHECK (period IN ('once', 'day', 'week', 'month', 'quarter')),
    timezone     text NOT NULL,
    -- For each period that begins from now on; NULL is no ceiling of that kind.
    limit_nanos  bigint CHECK (limit_nanos >= 0),
    limit_tokens bigint CHECK (limit_tokens >= 0),
    limit_runs   bigint CHECK (limit_runs >= 0),
    -- A hard budget holds claims and pauses jobs; a soft one only tells.
    hard         boolean NOT NULL,
    -- What a job reserves at a time.
    slice_nanos  bigint NOT NULL CHECK (slice_nanos > 0),
    slice_tokens bigint NOT NULL CHECK (slice_tokens > 0),
    -- Per cent of the limit at which it tells.
    alert_at     smallint[] NOT NULL,
    -- Whether jobs of low priority wait while it would run out before its period ends.
    throttle     boolean NOT NULL DEFAULT false,
    -- Jobs below this priority wait, as the projection decided last.
    throttled_below smallint NOT NULL DEFAULT 0 CHECK (throttled_below BETWEEN 0 AND 10),
    -- That projection: what is spent in a day at the rate of the last hour, day and week,
    -- when the money is gone, and whether that is before the period ends.
    burn_nanos_1h   bigint NOT NULL DEFAULT 0,
    burn_nanos_24h  bigint NOT NULL DEFAULT 0,
    burn_nanos_7d   bigint NOT NULL DEFAULT 0,
    exhausted_p50   timestamptz,
    exhausted_p90   timestamptz,
    verdict         text NOT NULL DEFAULT 'too_little_data'
        CHECK (verdict IN ('enough', 'runs_out', 'throttle', 'exhausted', 'too_little_data')),
    version      integer NOT NULL DEFAULT 1,
    created_by   text NOT NULL,
    created_at   timestamptz NOT NULL DEFAULT now(),
    updated_at   timestamptz NOT NULL DEFAULT now(),
    removed_at   timestamptz,
    PRIMARY KEY (workspace_id, id),
    FOREIGN KEY (workspace_id) REFERENCES workspace(id) ON DELETE CASCADE,
    CHECK (scope IN ('product', 'milestone') OR product_id IS NULL),
    CHECK (scope <> 'product' OR product_id IS NOT NULL),
    CHECK ((scope = 'milestone') = (phase <> '')),
    CHECK ((scope = 'job') = (job_id IS NOT NULL)),
    CHECK (num_nonnulls(limit_nanos, limit_tokens, limit_runs) > 0)
);
CREATE INDEX budget_scope ON budget (workspace_id, scope_key) WHERE (removed_at IS NULL);

-- The scopes that a job is in, as words.
CREATE FUNCTION budget_scopes(product uuid, phase text, job uuid) RETURNS text[]
    LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp
    RETURN CASE WHEN phase = '' THEN ARRAY['workspace', 'product:' || product, 'job:' || job]
        ELSE ARRAY['workspace', 'product:' || product, 'job:' || job, 'milestone::' || phase, 'milestone:' || product || ':' || phase] END;

-- One period of a budget, from start to before end by its calendar; 'once' never ends.
-- All sums are those of its ledger's lines; nothing is ever reset. Free is limit -
-- settled - reserved; of a soft budget, and where more was spent than was reserved, it
-- is below zero.
CREATE TABLE budget_period (
    workspace_id    uuid NOT NULL,
    budget_id       uuid NOT NULL,
    period_start    timestamptz NOT NULL,
    period_end      timestamptz NOT NULL,
    limit_nanos     bigint CHECK (limit_nanos >= 0),
    limit_tokens    bigint CHECK (limit_tokens >= 0),
    limit_runs      bigint CHECK (limit_runs >= 0),
    settled_nanos   bigint NOT NULL DEFAULT 0 CHECK (settled_nanos >= 0),
    reserved_nanos  bigint NOT NULL DEFAULT 0 CHECK (reserved_nanos >= 0),
    settled_tokens  bigint NOT NULL DEFAULT 0 CHECK (settled_tokens >= 0),
    reserved_tokens bigint NOT NULL DEFAULT 0 CHECK (reserved_tokens >= 0),
    -- Attempts that were begun.
    runs            bigint NOT NULL DEFAULT 0 CHECK (runs >= 0),
    unpriced_tokens bigint NOT NULL DEFAULT 0 CHECK (unpriced_tokens >= 0),
    -- When a person decided that it stays used up; another limit asks again.
    stopped_at      timestamptz,
    PRIMARY KEY (workspace_id, budget_id, period_start),
    FOREIGN KEY (workspace_id, budget_id) REFERENCES budget(workspace_id, id) ON DELETE CASCADE,
    CHECK (period_start < period_end)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 200);

-- What a lease has reserved of a budget and not used yet. It is there exactly as long
-- as the lease. It and the ledger have no foreign key to the period, whose row each claim
-- has locked anyway (ADR 31); they go with it by a trigger.
CREATE TABLE budget_reservation (
    workspace_id uuid NOT NULL,
    job_id       uuid NOT NULL,
    epoch        bigint NOT NULL,
    budget_id    uuid NOT NULL,
    period_start timestamptz NOT NULL,
    held_nanos   bigint NOT NULL CHECK (held_nanos >= 0),
    held_tokens  bigint NOT NULL CHECK (held_tokens >= 0),
    PRIMARY KEY (workspace_id, job_id, epoch, budget_id, period_start)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000);

-- Each line moves an amount between two of a period's accounts: outside (what is not
-- the budget's), free, reserved and settled. Only added to.
CREATE TABLE budget_ledger (
    workspace_id    uuid NOT NULL,
    id              bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
    budget_id       uuid NOT NULL,
    period_start    timestamptz NOT NULL,
    kind            text NOT NULL CHECK (kind IN ('grant', 'raise', 'expire', 'transfer_in', 'transfer_out', 'reserve', 'top_up',
        'settle', 'free')),
    from_account    text NOT NULL CHECK (from_account IN ('outside', 'free', 'reserved', 'settled')),
    to_account      text NOT NULL CHECK (to_account IN ('outside', 'free', 'reserved', 'settled')),
    nanos           bigint NOT NULL DEFAULT 0 CHECK (nanos >= 0),
    tokens          bigint NOT NULL DEFAULT 0 CHECK (tokens >= 0),
    runs            bigint NOT NULL DEFAULT 0 CHECK (runs >= 0),
    -- Below zero where a price was found for them.
    unpriced_tokens bigint NOT NULL DEFAULT 0,
    -- For whom: a lease, and the usage entry where the line is of one alone.
    job_id          uuid,
    epoch           bigint,
    entry           text NOT NULL DEFAULT '',
    -- The other budget of a transfer; of one that takes another back, the line
    -- transfer_out of that one.
    other_budget_id uuid,
    reverses        bigint,
    -- When a raise ends.
    until           timestamptz,
    reason          text NOT NULL DEFAULT '' CHECK (char_length(reason) <= 500),
    actor           text NOT NULL DEFAULT '',
    at              timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (workspace_id, id),
    CHECK (from_account <> to_account)
) WITH (autovacuum_vacuum_insert_scale_factor = 0.02, autovacuum_vacuum_insert_threshold = 50000);
CREATE INDEX budget_ledger_period ON budget_ledger (workspace_id, budget_id, id);
-- A transfer is taken back once.
CREATE UNIQUE INDEX budget_ledger_reverses ON budget_ledger (workspace_id, reverses) WHERE (reverses IS NOT NULL);

-- +goose StatementBegin
CREATE FUNCTION budget_period_gone() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS
$$
DECLARE
    before constant text := current_setting('app.workspace_id', true);
BEGIN
    PERFORM set_config('app.workspace_id', OLD.workspace_id::text, true);
    DELETE FROM public.budget_reservation r
    WHERE r.workspace_id = OLD.workspace_id AND r.budget_id = OLD.budget_id AND r.period_start = OLD.period_start;
    DELETE FROM public.budget_ledger l
    WHERE l.workspace_id = OLD.workspace_id AND l.budget_id = OLD.budget_id AND l.period_start = OLD.period_start;
    PERFORM set_config('app.workspace_id', coalesce(before, ''), true);
    RETURN NULL;
END
$$;
-- +goose StatementEnd
CREATE TRIGGER budget_period_gone AFTER DELETE ON budget_period FOR EACH ROW EXECUTE FUNCTION budget_period_gone();

-- What is left of raises that were not taken back, by their ledger line. One that ends
-- goes as far as it is free, the rest as it becomes free.
CREATE TABLE budget_raise (
    workspace_id uuid NOT NULL,
    budget_id    uuid NOT NULL,
    period_start timestamptz NOT NULL,
    line         bigint NOT NULL,
    nanos        bigint NOT NULL CHECK (nanos > 0),
    -- When it ends; NULL is with its period.
    until        timestamptz,
    PRIMARY KEY (workspace_id, line),
    FOREIGN KEY (workspace_id, budget_id, period_start) REFERENCES budget_period(workspace_id, budget_id, period_start) ON DELETE CASCADE
);
CREATE INDEX budget_raise_until ON budget_raise (workspace_id, until) WHERE (until IS NOT NULL);

-- A threshold is told once in each period; 101 is "runs out before the period ends".
CREATE TABLE budget_alert (
    workspace_id uuid NOT NULL,
    budget_id    uuid NOT NULL,
    period_start timestamptz NOT NULL,
    threshold    smallint NOT NULL CHECK (threshold BETWEEN 1 AND 101),
    fired_at     timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (workspace_id, budget_id, period_start, threshold),
    FOREIGN KEY (workspace_id, budget_id, period_start) REFERENCES budget_period(workspace_id, budget_id, period_start) ON DELETE CASCADE
);

-- How a period stood at the end of each hour, or stands in the last one: what charts and
-- projections are made of.
CREATE TABLE budget_hour (
    workspace_id    uuid NOT NULL,
    budget_id       uuid NOT NULL,
    period_start    timestamptz NOT NULL,
    hour            timestamptz NOT NULL,
    limit_nanos     bigint,
    settled_nanos   bigint NOT NULL,
    reserved_nanos  bigint NOT NULL,
    settled_tokens  bigint NOT NULL,
    reserved_tokens bigint NOT NULL,
    runs            bigint NOT NULL,
    PRIMARY KEY (workspace_id, budget_id, period_start, hour),
    FOREIGN KEY (workspace_id, budget_id, period_start) REFERENCES budget_period(workspace_id, budget_id, period_start) ON DELETE CASCADE
);

-- The jobs that wait for a budget, the most urgent first.
-- The holders that a budget has warned.
CREATE INDEX job_lease_budget_warned ON job_lease (workspace_id, job_id) WHERE (directive = 'warn' AND directive_by = 'budget');

CREATE INDEX job_held_budget ON job (workspace_id, priority DESC, status_at, id)
    WHERE ((status = 'waiting') AND (wait_reason = 'budget'));

-- Each shows and takes only rows of the transaction's workspace. Outside a transaction
-- the setting is the empty string, hence nullif; the sub-select makes it evaluated
-- once, not per row.
-- +goose StatementBegin
DO $$
DECLARE
    t text;
BEGIN
    FOREACH t IN ARRAY ARRAY['budget', 'budget_period', 'budget_reservation', 'budget_ledger', 'budget_raise', 'budget_alert', 'budget_hour']
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

GRANT SELECT, INSERT, UPDATE ON budget, budget_period, budget_hour TO fleetboard_app;
GRANT SELECT, INSERT, UPDATE, DELETE ON budget_reservation TO fleetboard_app;
GRANT SELECT, INSERT, UPDATE, DELETE ON budget_raise TO fleetboard_app;
GRANT SELECT, INSERT ON budget_ledger, budget_alert TO fleetboard_app;

-- Where there is something to open and to foresee.
CREATE POLICY system ON budget FOR SELECT TO fleetboard_system
    USING (removed_at IS NULL);
GRANT SELECT (workspace_id, removed_at) ON budget TO fleetboard_system;
