-- name: TranscriptLease :many
-- The lease that an agent writes steps under, locked until they are committed. One row where the lease
-- is still the agent's own.
SELECT l.expires_at, l.directive, l.directive_reason FROM job_lease l
WHERE l.workspace_id = @workspace_id AND l.job_id = @job_id AND l.epoch = @epoch AND l.agent_id = @agent_id
    AND l.expires_at > clock_timestamp()
FOR NO KEY UPDATE;

-- name: TranscriptOpen :one
-- The transcript of an attempt, which it makes where there is none, locked; with what the transcripts of
-- all attempts of the job take.
INSERT INTO job_transcript AS t (workspace_id, job_id, epoch) VALUES (@workspace_id, @job_id, @epoch)
ON CONFLICT (workspace_id, job_id, epoch) DO UPDATE SET
    minute_bytes = CASE WHEN t.minute = date_trunc('minute', clock_timestamp()) THEN t.minute_bytes ELSE 0 END,
    minute = date_trunc('minute', clock_timestamp())
RETURNING t.last_n, t.steps, t.bytes, t.minute_bytes,
    (SELECT coalesce(sum(o.bytes), 0) FROM job_transcript o WHERE o.workspace_id = t.workspace_id AND o.job_id = t.job_id)::bigint AS job_bytes;

-- name: TranscriptTail :many
-- The last chunks of a transcript, the last first.
SELECT first_n, size FROM job_transcript_chunk
WHERE workspace_id = @workspace_id AND job_id = @job_id AND epoch = @epoch
ORDER BY first_n DESC LIMIT @max_rows;

-- name: TranscriptTake :many
-- Takes the chunks from a step on out, for one that has all of them.
DELETE FROM job_transcript_chunk
WHERE workspace_id = @workspace_id AND job_id = @job_id AND epoch = @epoch AND first_n >= @first_n
RETURNING first_n, kinds, data;

-- name: TranscriptChunkInsert :exec
INSERT INTO job_transcript_chunk (workspace_id, job_id, epoch, first_n, last_n, size, kinds, data)
VALUES (@workspace_id, @job_id, @epoch, @first_n, @last_n, @size, @kinds, @data);

-- name: TranscriptCount :exec
-- Counts what was written to a transcript.
UPDATE job_transcript SET last_n = @last_n, steps = steps + @steps, bytes = bytes + @bytes, minute_bytes = minute_bytes + @bytes,
    left_out = left_out + @left_out, tokens = tokens + @tokens, cost_nanos = cost_nanos + @cost_nanos
WHERE workspace_id = @workspace_id AND job_id = @job_id AND epoch = @epoch;

-- name: TranscriptHead :many
-- A transcript without its steps; no row where there is none.
SELECT last_n, steps, bytes, left_out, tokens, cost_nanos FROM job_transcript
WHERE workspace_id = @workspace_id AND job_id = @job_id AND epoch = @epoch;

-- name: TranscriptEpochs :many
-- The attempts of a job that have a transcript, the newest first.
SELECT epoch FROM job_transcript WHERE workspace_id = @workspace_id AND job_id = @job_id ORDER BY epoch DESC LIMIT @max_rows;

-- name: TranscriptChunks :many
-- Chunks with steps of some kinds after a step, in their order.
SELECT first_n, last_n, data FROM job_transcript_chunk
WHERE workspace_id = @workspace_id AND job_id = @job_id AND epoch = @epoch AND last_n > @after AND kinds & @kinds::integer <> 0
ORDER BY first_n LIMIT @max_rows;

-- name: TranscriptChunksBefore :many
-- Chunks with steps of some kinds before a step, the last first.
SELECT first_n, last_n, data FROM job_transcript_chunk
WHERE workspace_id = @workspace_id AND job_id = @job_id AND epoch = @epoch AND first_n < @before AND kinds & @kinds::integer <> 0
ORDER BY first_n DESC LIMIT @max_rows;

-- name: TranscriptExpire :execrows
DELETE FROM job_transcript t WHERE t.workspace_id = @workspace_id AND (t.job_id, t.epoch) IN (
    SELECT o.job_id, o.epoch FROM job_transcript o
    WHERE o.workspace_id = @workspace_id AND o.began_at < statement_timestamp() - make_interval(secs => @keep_seconds::float8)
        AND o.minute < statement_timestamp() - make_interval(secs => @keep_seconds::float8)
    ORDER BY o.began_at LIMIT @max_rows);
