-- +goose Up

-- Counts tables that have more than three times the rows that they had when they were last
-- counted, and returns how many. PostgreSQL counts once a minute at best; until then it plans
-- for a table as it was, and reads all of one that it believes to be empty. What was planned
-- before is planned anew. A table that somebody else counts or cleans up is left to them.
-- +goose StatementBegin
CREATE FUNCTION analyze_grown_tables() RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '100ms' AS
$$
DECLARE
    grown regclass;
    counted integer := 0;
BEGIN
    FOR grown IN SELECT c.oid FROM pg_class c
        WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r'
            AND pg_stat_get_live_tuples(c.oid) > 500 + 3 * greatest(c.reltuples, 0)
    LOOP
        BEGIN
            EXECUTE format('ANALYZE %s', grown);
            counted := counted + 1;
        EXCEPTION WHEN lock_not_available THEN
            NULL;
        END;
    END LOOP;
    RETURN counted;
END
$$;
-- +goose StatementEnd
REVOKE ALL ON FUNCTION analyze_grown_tables() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION analyze_grown_tables() TO fleetboard_system;
