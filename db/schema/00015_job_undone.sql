-- +goose Up
-- A person took back the last act on a job.
SELECT add_event_types('job.undone');
