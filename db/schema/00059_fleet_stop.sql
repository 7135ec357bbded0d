-- +goose Up

SELECT add_event_types('fleet.stopped', 'fleet.released');

-- What a person has stopped: one product, or the whole fleet where product_id is NULL.
CREATE TABLE fleet_stop (
    workspace_id uuid NOT NULL,
    id           uuid NOT NULL,
    product_id   uuid,
    -- claims: nothing new is given out. all: those who work are directed to pause, too.
    hold         text NOT NULL CHECK (hold IN ('claims', 'all')),
    reason       text NOT NULL CHECK (char_length(reason) BETWEEN 1 AND 500),
    by_kind      text NOT NULL,
    by_id        text NOT NULL,
    by_name      text NOT NULL,
    stopped_at   timestamptz NOT NULL DEFAULT now(),
    -- It was released. The row goes once everything that it has paused goes on.
    released_at  timestamptz,
    PRIMARY KEY (workspace_id, id),
    FOREIGN KEY (workspace_id) REFERENCES workspace(id) ON DELETE CASCADE,
    FOREIGN KEY (workspace_id, product_id) REFERENCES product(workspace_id, id) ON DELETE CASCADE
);
CREATE UNIQUE INDEX fleet_stop_scope ON fleet_stop (workspace_id, coalesce(product_id, '00000000-0000-0000-0000-000000000000'));
ALTER TABLE fleet_stop ENABLE ROW LEVEL SECURITY;
ALTER TABLE fleet_stop FORCE ROW LEVEL SECURITY;
CREATE POLICY workspace ON fleet_stop TO fleetboard_app
    USING (workspace_id = (SELECT nullif(current_setting('app.workspace_id', true), '')::uuid))
    WITH CHECK (workspace_id = (SELECT nullif(current_setting('app.workspace_id', true), '')::uuid));
GRANT SELECT, INSERT, DELETE, UPDATE ON fleet_stop TO fleetboard_app;
CREATE POLICY system ON fleet_stop FOR SELECT TO fleetboard_system USING (true);
GRANT SELECT (workspace_id, hold, released_at) ON fleet_stop TO fleetboard_system;
