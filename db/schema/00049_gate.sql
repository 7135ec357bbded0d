-- +goose Up

-- gate is the other side of a parent link: the parent is not to be claimed until its
-- child, which depends_on_id names, has ended. It stands in the direction of the wait,
-- as blocks does.
ALTER TABLE job_dependency DROP CONSTRAINT job_dependency_type_check,
    ADD CONSTRAINT job_dependency_type_check CHECK (type IN ('blocks', 'gate', 'parent', 'discovered_from',
        'duplicates', 'supersedes'));
