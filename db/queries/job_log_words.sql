-- name: LogWordsPlace :many
-- How far the log of events was looked at; nothing is its beginning.
SELECT place, era, filled FROM job_log_words_place WHERE workspace_id = @workspace_id;

-- name: LogWordsPlaceSave :exec
INSERT INTO job_log_words_place (workspace_id, place, era, filled) VALUES (@workspace_id, @place, @era, @filled)
ON CONFLICT (workspace_id) DO UPDATE SET place = excluded.place, era = excluded.era, filled = excluded.filled;

-- name: LogWordsDue :many
-- Attempts of these jobs that have ended and have lines but no words yet. Each is looked up by
-- itself: as joins they would be planned by statistics, and read whole tables where they are
-- missing.
SELECT a.job_id, a.epoch FROM unnest(@jobs::uuid[]) n(id)
CROSS JOIN LATERAL (
    SELECT x.job_id, x.epoch FROM attempt x
    WHERE x.workspace_id = @workspace_id AND x.job_id = n.id AND x.ended_at IS NOT NULL
        AND (SELECT w.epoch FROM job_log_words w
            WHERE w.workspace_id = @workspace_id AND w.job_id = x.job_id AND w.epoch = x.epoch LIMIT 1) IS NULL
        AND (SELECT l.id FROM job_log l
            WHERE l.workspace_id = @workspace_id AND l.job_id = x.job_id AND l.epoch = x.epoch ORDER BY l.id LIMIT 1) IS NOT NULL
    ORDER BY x.epoch LIMIT @max_rows
) a
LIMIT @max_rows;

-- name: LogWordsLines :many
-- Lines of an attempt after one of them, the oldest first.
SELECT id, event, message, received_at FROM job_log
WHERE workspace_id = @workspace_id AND job_id = @job_id AND epoch = @epoch AND id > @after
ORDER BY id LIMIT @max_rows;

-- name: LogWordsLinesBack :many
-- Lines of an attempt between two of them, the newest first.
SELECT id, event, message, received_at FROM job_log
WHERE workspace_id = @workspace_id AND job_id = @job_id AND epoch = @epoch AND id > @after AND id < @before
ORDER BY id DESC LIMIT @max_rows;

-- name: LogWordsAdd :exec
-- Writes the words of a block of an attempt's log; whoever was first has written the same ones.
INSERT INTO job_log_words (workspace_id, job_id, epoch, first_id, last_id, words, last_at)
VALUES (@workspace_id, @job_id, @epoch, @first_id, @last_id,
    words_of_era(@workspace_id, @era::int) || array_to_tsvector(@words::text[]), @last_at)
ON CONFLICT (workspace_id, job_id, epoch, first_id) DO NOTHING;

-- name: LogWordsExpire :exec
-- Drops words of attempts whose last line is older than lines are kept. Nobody updates words,
-- so that a row stays where it is.
DELETE FROM job_log_words w WHERE w.workspace_id = @workspace_id AND w.ctid = ANY(ARRAY(
    SELECT o.ctid FROM job_log_words o
    WHERE o.workspace_id = @workspace_id
        AND o.last_at < statement_timestamp() - make_interval(secs => @keep_seconds::float8)
    ORDER BY o.last_at LIMIT @max_rows));

-- name: LogWordsFind :many
-- The newest blocks of logs with these words, of each job one.
SELECT f.job_id::uuid AS job_id, f.epoch::bigint AS epoch, f.first_id::bigint AS first_id, f.last_id::bigint AS last_id
FROM find_job_logs(@workspace_id::uuid, cast(sqlc.arg('wanted')::text AS tsquery), @max_rows::int) f;

-- name: LogWordsBlocks :many
-- Of each block its last lines, the newest first.
SELECT n.job_id::uuid AS job_id, l.id, l.event, l.message
FROM (SELECT unnest(@jobs::uuid[]) AS job_id, unnest(@epochs::bigint[]) AS epoch, unnest(@first_ids::bigint[]) AS first_id,
    unnest(@last_ids::bigint[]) AS last_id) n
CROSS JOIN LATERAL (SELECT o.id, o.event, o.message FROM job_log o
    WHERE o.workspace_id = @workspace_id AND o.job_id = n.job_id AND o.epoch = n.epoch AND o.id BETWEEN n.first_id AND n.last_id
    ORDER BY o.id DESC LIMIT @max_rows) l;

-- name: LogWordsLinesByID :many
-- Lines of jobs by their ids.
SELECT l.* FROM (SELECT unnest(@jobs::uuid[]) AS job_id, unnest(@ids::bigint[]) AS id) n
CROSS JOIN LATERAL (SELECT o.job_id, o.id, o.epoch, o.agent, o.level, o.event, o.message, o.details, o.at, o.received_at FROM job_log o
    WHERE o.workspace_id = @workspace_id AND o.job_id = n.job_id AND o.id = n.id OFFSET 0) l;
