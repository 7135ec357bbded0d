-- +goose Up

-- The columns of the board by lane: what a product, a repo or a named factory
-- has of them, however much others have. Only rows that wait or are over are in
-- there, so that a claim writes into neither.
CREATE INDEX job_lane_open ON job (workspace_id, lane_id, status, priority DESC, status_at, id)
    WHERE status IN ('waiting', 'ready');
CREATE INDEX job_lane_finished ON job (workspace_id, lane_id, status, status_at DESC, id DESC)
    WHERE status IN ('completed', 'failed', 'aborted');
-- The finished ones in the very order of their pages: of many that ended at one
-- moment none is sorted.
DROP INDEX job_board_finished;
CREATE INDEX job_board_finished ON job (workspace_id, status, status_at DESC, id DESC)
    WHERE status IN ('completed', 'failed', 'aborted');
