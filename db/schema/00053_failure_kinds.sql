-- +goose Up

-- What failed on the side of the host (auth, billing) is nobody's failure, and what the model
-- does (refused, context_overflow, engine_garbage) is told apart from what else goes wrong.
ALTER TABLE job DROP CONSTRAINT job_failure_kind_check;
ALTER TABLE job ADD CONSTRAINT job_failure_kind_check CHECK (failure_kind IN ('', 'timeout', 'budget_exceeded', 'crash',
    'checks_failed', 'capability_mismatch', 'engine_missing', 'rate_limited', 'merge_conflict', 'clone_failed', 'auth', 'billing',
    'refused', 'context_overflow', 'engine_garbage', 'other')) NOT VALID;
ALTER TABLE job VALIDATE CONSTRAINT job_failure_kind_check;
