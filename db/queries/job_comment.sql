-- name: CommentInsert :one
-- Adds a comment or a reply.
INSERT INTO job_comment (workspace_id, id, job_id, thread_id, epoch, commit, path, line, side, line_text, text,
    author_kind, author_id, author)
VALUES (@workspace_id, @id, @job_id, @thread_id, @epoch, @commit, @path, @line, @side, @line_text, @text,
    @author_kind, @author_id, @author)
RETURNING *;

-- name: CommentGet :one
SELECT * FROM job_comment WHERE workspace_id = @workspace_id AND id = @id;

-- name: CommentLock :one
-- A comment that no other transaction can change until this one ends.
SELECT * FROM job_comment WHERE workspace_id = @workspace_id AND id = @id FOR UPDATE;

-- name: CommentsOfJobs :many
-- The comments about jobs, in the order in which they were made.
SELECT * FROM job_comment WHERE workspace_id = @workspace_id AND job_id = ANY(@job_ids::uuid[])
ORDER BY job_id, id LIMIT @max_rows;

-- name: CommentsOpen :many
-- The unresolved threads about jobs, with their replies, in the order in which they were made.
SELECT c.* FROM job_comment o
JOIN job_comment c ON c.workspace_id = o.workspace_id AND c.job_id = o.job_id AND c.thread_id = o.id
WHERE o.workspace_id = @workspace_id AND o.job_id = ANY(@job_ids::uuid[]) AND o.thread_id = o.id AND o.resolved_at IS NULL
ORDER BY c.job_id, c.id;

-- name: CommentCount :one
-- How many comments a job has, and how many threads are not resolved.
SELECT count(*) AS all_comments, count(*) FILTER (WHERE thread_id = id AND resolved_at IS NULL) AS open_threads
FROM job_comment WHERE workspace_id = @workspace_id AND job_id = @job_id;

-- name: CommentEdit :one
-- Gives a comment another text.
UPDATE job_comment SET text = @text, edited_at = now() WHERE workspace_id = @workspace_id AND id = @id
RETURNING *;

-- name: CommentResolve :one
-- Resolves a thread, or opens it again where by_kind is empty.
UPDATE job_comment SET resolved_at = CASE WHEN @by_kind::text = '' THEN NULL ELSE now() END,
    resolved_by_kind = @by_kind, resolved_by_id = @by_id, resolved_by = @by_name
WHERE workspace_id = @workspace_id AND id = @id AND thread_id = id
RETURNING *;

-- name: CommentAttempts :many
-- The attempts on a job that have handed in work, the newest first, with what they handed in.
SELECT epoch, result FROM attempt
WHERE workspace_id = @workspace_id AND job_id = @job_id AND result ->> 'commit' <> ''
ORDER BY epoch DESC LIMIT @max_rows;
