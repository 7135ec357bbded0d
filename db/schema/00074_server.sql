-- +goose Up

-- The servers of this database, a row each, which its server writes every few seconds as long as
-- it lives. What a caller may have is divided among those that live.
CREATE TABLE server (
    -- Host, process and some letters: of one life of a server.
    name       text NOT NULL,
    version    text NOT NULL,
    started_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    seen_at    timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (name)
) WITH (fillfactor = 50);

GRANT SELECT, INSERT, UPDATE, DELETE ON server TO fleetboard_app;
