-- +goose Up

CREATE TABLE workspace (
    id                    uuid NOT NULL,
    slug                  text NOT NULL CHECK (slug ~ '^[a-z0-9][a-z0-9-]{0,62}$'),
    name                  text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 100),
    -- Keys of jobs are this prefix, a dash and a number.
    job_prefix            text NOT NULL DEFAULT 'FB' CHECK (job_prefix ~ '^[A-Z][A-Z0-9]{0,9}$'),
    created_at            timestamptz NOT NULL DEFAULT now(),
    -- Whether a member who logs in with a password needs a second factor.
    require_second_factor boolean NOT NULL DEFAULT false,
    PRIMARY KEY (id),
    UNIQUE (slug)
);

ALTER TABLE workspace ENABLE ROW LEVEL SECURITY;
ALTER TABLE workspace FORCE ROW LEVEL SECURITY;
-- Loops learn where there is work; they do it in a transaction of that workspace.
CREATE POLICY system ON workspace FOR SELECT TO fleetboard_system
    USING (true);
CREATE POLICY workspace ON workspace TO fleetboard_app
    USING ((id = (SELECT (nullif(current_setting('app.workspace_id', true), ''))::uuid)))
    WITH CHECK ((id = (SELECT (nullif(current_setting('app.workspace_id', true), ''))::uuid)));
GRANT SELECT, INSERT, UPDATE ON workspace TO fleetboard_app;
GRANT SELECT (id, slug) ON workspace TO fleetboard_system;
