-- +goose Up

-- By how many minutes a job's place is behind the time when it became ready, where short jobs come
-- first: its estimate, 8 hours at most and where it has none.
-- +goose StatementBegin
CREATE FUNCTION estimate_delay(short_jobs_first boolean, estimated_minutes integer) RETURNS smallint
    LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
SELECT CASE WHEN short_jobs_first THEN least(coalesce(nullif(estimated_minutes, 0), 480), 480) ELSE 0 END::smallint
$$;
-- +goose StatementEnd
ALTER TABLE job_ready ADD COLUMN delay_minutes smallint NOT NULL DEFAULT 0 CHECK (delay_minutes BETWEEN 0 AND 480);

-- The version of the settings by which the ready jobs stand; the coordinator moves them where it is another.
ALTER TABLE dispatch_setting ADD COLUMN placed_version bigint NOT NULL DEFAULT 0;
GRANT SELECT (version, placed_version) ON dispatch_setting TO fleetboard_system;
