-- +goose Up
SELECT add_event_types('price.asked', 'price.decided');

-- What a hard budget of dollars does with models that have no price: holds their claims and
-- asks a person once, holds them, or lets them pass.
ALTER TABLE budget ADD COLUMN unpriced text NOT NULL DEFAULT 'ask' CHECK (unpriced IN ('ask', 'hold', 'allow'));

-- Those whose claims look for the price of a model: in nearly all workspaces none.
CREATE INDEX budget_unpriced ON budget (workspace_id)
    WHERE ((removed_at IS NULL) AND hard AND (limit_nanos IS NOT NULL) AND (unpriced <> 'allow'));

-- Models without a price that a person was asked about, or has decided on unasked: each
-- counts as another one or passes. A price that is found wins over the decision.
CREATE TABLE unpriced_model (
    workspace_id    uuid NOT NULL,
    -- In small letters; whatever the provider.
    model           text NOT NULL CHECK (char_length(model) BETWEEN 1 AND 128),
    -- As it was named when the question came up.
    provider        text NOT NULL DEFAULT '' CHECK (char_length(provider) <= 64),
    asked_at        timestamptz NOT NULL DEFAULT now(),
    -- The budget that asked, and the agent or the job whose usage it was; '' for who decided unasked.
    budget          text NOT NULL DEFAULT '' CHECK (char_length(budget) <= 100),
    source          text NOT NULL DEFAULT '' CHECK (char_length(source) <= 200),
    decision        text NOT NULL DEFAULT '' CHECK (decision IN ('', 'count', 'pass')),
    counts_provider text NOT NULL DEFAULT '' CHECK (char_length(counts_provider) <= 64),
    counts_model    text NOT NULL DEFAULT '' CHECK (char_length(counts_model) <= 128),
    decided_by      text NOT NULL DEFAULT '',
    decided_at      timestamptz,
    PRIMARY KEY (workspace_id, model),
    FOREIGN KEY (workspace_id) REFERENCES workspace(id) ON DELETE CASCADE,
    CHECK ((decision = 'count') = (counts_model <> '')),
    CHECK ((decision <> '') = (decided_at IS NOT NULL))
);
ALTER TABLE unpriced_model ENABLE ROW LEVEL SECURITY;
ALTER TABLE unpriced_model FORCE ROW LEVEL SECURITY;
CREATE POLICY workspace ON unpriced_model TO fleetboard_app
    USING (workspace_id = (SELECT nullif(current_setting('app.workspace_id', true), '')::uuid))
    WITH CHECK (workspace_id = (SELECT nullif(current_setting('app.workspace_id', true), '')::uuid));
GRANT SELECT, INSERT, UPDATE ON unpriced_model TO fleetboard_app;

-- Names that clouds and gateways give the models of the built-in list have a price now: what
-- was used under them without one is priced once more.
ALTER TABLE workspace NO FORCE ROW LEVEL SECURITY;
ALTER TABLE usage_pricing NO FORCE ROW LEVEL SECURITY;
INSERT INTO usage_pricing (workspace_id, since, after_at, after_id, saved_at)
SELECT id, '2024-01-01', '2024-01-01', '', clock_timestamp() FROM workspace
ON CONFLICT (workspace_id) DO UPDATE SET since = excluded.since, after_at = excluded.after_at, after_id = '', was_locked = false,
    saved_at = excluded.saved_at;
ALTER TABLE workspace FORCE ROW LEVEL SECURITY;
ALTER TABLE usage_pricing FORCE ROW LEVEL SECURITY;
