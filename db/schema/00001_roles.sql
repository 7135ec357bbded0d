-- +goose Up

-- The application's role owns nothing, logs in nowhere and is subject to every
-- policy. The system role reads, across workspaces, the little that a loop
-- needs to know where there is work; it writes nothing.
-- +goose StatementBegin
DO $$
BEGIN
    -- Roles belong to the cluster: a second database, or a second process
    -- that migrates at the same moment, finds them there.
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'fleetboard_app') THEN
        CREATE ROLE fleetboard_app NOLOGIN NOSUPERUSER NOBYPASSRLS NOCREATEDB NOCREATEROLE;
    END IF;
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'fleetboard_system') THEN
        CREATE ROLE fleetboard_system NOLOGIN NOSUPERUSER NOBYPASSRLS NOCREATEDB NOCREATEROLE;
    END IF;
EXCEPTION WHEN duplicate_object OR unique_violation THEN
    NULL;
END
$$;
-- +goose StatementEnd

GRANT fleetboard_app, fleetboard_system TO current_user;
GRANT USAGE ON SCHEMA public TO fleetboard_app, fleetboard_system;
