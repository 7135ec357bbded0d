-- name: JobWordsLock :one
-- Locks how far the log of events was looked at for jobs whose words are to be written.
INSERT INTO job_words_place (workspace_id, place) VALUES (@workspace_id, '')
ON CONFLICT (workspace_id) DO UPDATE SET place = job_words_place.place
RETURNING place;

-- name: JobWordsPlaceSave :exec
UPDATE job_words_place SET place = @place WHERE workspace_id = @workspace_id;

-- name: JobWordsWrite :exec
-- Writes the words of jobs as they are now. Each is looked up by itself: as joins they would be
-- planned by statistics, and read whole tables where they are missing.
INSERT INTO job_words (workspace_id, job_id, words)
SELECT j.workspace_id, j.id, job_words_of(j.workspace_id, j.key, j.title, coalesce(j.body, ''), j.question, j.answer, j.last_error)
FROM unnest(@jobs::uuid[]) n(id) CROSS JOIN LATERAL (
    SELECT o.*, (SELECT t.body FROM job_text t WHERE t.workspace_id = o.workspace_id AND t.job_id = o.id) AS body
    FROM job o WHERE o.workspace_id = @workspace_id AND o.id = n.id
) j
ON CONFLICT (workspace_id, job_id) DO UPDATE SET words = excluded.words;
