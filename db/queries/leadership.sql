-- name: LeadershipAcquire :one
-- Begins a term if nobody ever led, if the leader's lease has ended, or if
-- the holder asks again. No row where somebody else leads. The lease counts
-- from the moment the row is had, not from when it was asked for.
INSERT INTO leadership AS l (name, holder, term, expires_at)
VALUES (@name, @holder, 1, clock_timestamp() + make_interval(secs => @lease_seconds::float8))
ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, term = l.term + 1, acquired_at = clock_timestamp(),
    renewed_at = clock_timestamp(), expires_at = clock_timestamp() + make_interval(secs => @lease_seconds::float8),
    cycle_count = 0, stats = '{}'
WHERE l.expires_at <= clock_timestamp() OR l.holder = excluded.holder
RETURNING l.term;

-- name: LeadershipRenew :execrows
-- A lease that has ended is not renewed: a word that was held up changes nothing.
UPDATE leadership SET renewed_at = clock_timestamp(),
    expires_at = clock_timestamp() + make_interval(secs => @lease_seconds::float8)
WHERE name = @name AND holder = @holder AND term = @term AND expires_at > clock_timestamp();

-- name: LeadershipResign :execrows
UPDATE leadership SET expires_at = clock_timestamp()
WHERE name = @name AND holder = @holder AND term = @term AND expires_at > clock_timestamp();

-- name: LeadershipReport :execrows
-- What the holder of this term did. A lease that has just ended does not make it untrue.
UPDATE leadership SET last_cycle_at = clock_timestamp() - make_interval(secs => @age_seconds::float8),
    cycle_count = @cycle_count, stats = @stats
WHERE name = @name AND holder = @holder AND term = @term;

-- name: LeadershipGet :one
SELECT l.*, (l.expires_at > clock_timestamp())::boolean AS active, clock_timestamp()::timestamptz AS now
FROM leadership l WHERE l.name = @name;

-- name: LeadershipLeft :one
-- How long the present lease still lasts, in seconds.
SELECT extract(epoch FROM expires_at - clock_timestamp())::float8 AS seconds FROM leadership WHERE name = @name;
