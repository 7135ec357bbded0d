-- +goose Up

-- How alive an agent is that was last heard of at a time, by product.md section 2:
-- warn, stale and dead after 3, 10 and 30 of the 30 intervals that dead_after is.
CREATE FUNCTION agent_health(heard_at timestamptz, dead_after integer, at timestamptz) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE
        WHEN at - heard_at >= make_interval(secs => dead_after) THEN 'dead'
        WHEN at - heard_at >= make_interval(secs => dead_after / 3.0) THEN 'stale'
        WHEN at - heard_at >= make_interval(secs => dead_after / 10.0) THEN 'warn'
        ELSE 'healthy'
    END;
GRANT EXECUTE ON FUNCTION agent_health(timestamptz, integer, timestamptz) TO fleetboard_app, fleetboard_system;

-- The health that was told last, in the log and on the pages: who tells of a
-- change sets it in the same transaction, so that each one is told once.
ALTER TABLE agent ADD COLUMN health_told text NOT NULL DEFAULT 'healthy'
    CHECK (health_told IN ('healthy', 'warn', 'stale', 'dead'));
GRANT SELECT (terminated_at, health_told) ON agent TO fleetboard_system;
