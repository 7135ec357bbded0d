-- +goose Up

CREATE TABLE product (
    workspace_id     uuid NOT NULL,
    id               uuid NOT NULL,
    name             text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 64),
    review_required  boolean NOT NULL DEFAULT false,
    one_job_per_repo boolean NOT NULL DEFAULT false,
    review_limit     integer CHECK (review_limit > 0),
    paused           boolean NOT NULL DEFAULT false,
    created_at       timestamptz NOT NULL DEFAULT now(),
    updated_at       timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (workspace_id, id),
    CONSTRAINT product_name_key UNIQUE (workspace_id, name),
    FOREIGN KEY (workspace_id) REFERENCES workspace(id) ON DELETE CASCADE
);

-- A repo belongs to one product at most.
CREATE TABLE product_repo (
    workspace_id uuid NOT NULL,
    repo         text NOT NULL CHECK (char_length(repo) BETWEEN 1 AND 128),
    product_id   uuid NOT NULL,
    PRIMARY KEY (workspace_id, repo),
    FOREIGN KEY (workspace_id, product_id) REFERENCES product(workspace_id, id) ON DELETE CASCADE
);
CREATE INDEX product_repo_product ON product_repo (workspace_id, product_id);

-- Each shows and takes only rows of the transaction's workspace. Outside a transaction
-- the setting is the empty string, hence nullif; the sub-select makes it evaluated
-- once, not per row.
-- +goose StatementBegin
DO $$
DECLARE
    t text;
BEGIN
    FOREACH t IN ARRAY ARRAY['product', 'product_repo']
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

GRANT SELECT, INSERT, DELETE, UPDATE ON product TO fleetboard_app;
GRANT SELECT, INSERT, DELETE, UPDATE ON product_repo TO fleetboard_app;

