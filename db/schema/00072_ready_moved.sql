-- +goose Up

-- Ready jobs whose place is not since when they are ready, for whoever looks for the oldest one: of a
-- lane and priority the first by place is the oldest of the others only.
CREATE INDEX job_ready_moved ON job_ready (workspace_id, ready_at) WHERE place <> ready_at;
