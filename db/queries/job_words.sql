-- name: JobWordsLock :one
-- Locks how far the log of events was looked at for jobs whose words are to be written. A
-- workspace begins with its first event.
INSERT INTO job_words_place AS p (workspace_id, place) VALUES (@workspace_id, '')
ON CONFLICT (workspace_id) DO UPDATE SET place = p.place
RETURNING place, era, filled, walked;

-- name: JobWordsPlaceSave :exec
UPDATE job_words_place SET place = @place, era = @era, filled = @filled, walked = sqlc.narg('walked') WHERE workspace_id = @workspace_id;

-- name: JobWordsWalk :many
-- The next jobs by id.
SELECT id FROM job WHERE workspace_id = @workspace_id AND id > @after ORDER BY id LIMIT @max_rows;

-- name: JobWordsTexts :many
-- The texts of jobs as they are now, of each as much as words are kept of. Each is looked up
-- by itself: as joins they would be planned by statistics, and read whole tables where they are
-- missing.
SELECT j.id, j.key, j.title, j.question, j.answer, j.last_error, left(j.body, @most::int)::text AS body
FROM unnest(@jobs::uuid[]) n(id) CROSS JOIN LATERAL (
    SELECT o.id, o.key, o.title, left(o.question, @most::int) AS question, left(o.answer, @most::int) AS answer,
        left(o.last_error, @most::int) AS last_error,
        coalesce((SELECT t.body FROM job_text t WHERE t.workspace_id = o.workspace_id AND t.job_id = o.id), '') AS body
    FROM job o WHERE o.workspace_id = @workspace_id AND o.id = n.id
) j;

-- name: JobWordsWrite :exec
-- Writes the words of jobs.
INSERT INTO job_words (workspace_id, job_id, words)
SELECT @workspace_id, i.id, words_of_era(@workspace_id, @era::int) || i.words::tsvector
FROM (SELECT unnest(@jobs::uuid[]) AS id, unnest(@words::text[]) AS words) i
ON CONFLICT (workspace_id, job_id) DO UPDATE SET words = excluded.words;

-- name: JobSearch :many
-- Jobs with these words: the best of the newest ones that have them.
SELECT f.job_id::uuid AS job_id, f.rank::real AS rank
FROM find_jobs(@workspace_id::uuid, cast(sqlc.arg('wanted')::text AS tsquery), @scan::int) f
ORDER BY rank DESC, job_id DESC LIMIT @max_rows;
