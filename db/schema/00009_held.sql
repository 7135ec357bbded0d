-- +goose Up

-- What waits for a repo, by repo, and what a product holds back, by product, the
-- most urgent first. Without the repo and the product in it, the one index of
-- before had to be read past the jobs of all others.
DROP INDEX job_held;
CREATE INDEX job_held_repo ON job (workspace_id, repo, priority DESC, status_at, id)
    WHERE status = 'waiting' AND wait_reason = 'repo_busy';
CREATE INDEX job_held_product ON job (workspace_id, product_id, wait_reason, priority DESC, status_at, id)
    WHERE status = 'waiting' AND wait_reason IN ('repo_busy', 'review_backlog');
