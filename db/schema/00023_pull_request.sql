-- +goose Up

-- Approved work may also be merged by a pull request, which a factory opens and follows.
ALTER TABLE product
    DROP CONSTRAINT product_merge_by_check,
    ADD CONSTRAINT product_merge_by_check CHECK (merge_by IN ('person', 'worker', 'pull_request'));
