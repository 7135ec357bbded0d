-- +goose Up

-- Of a job that an agent filed: the first job of the chain in which each was found while
-- another one was worked on, and how many steps away that is. The root may be deleted
-- since; what a person filed has none.
ALTER TABLE job
    ADD COLUMN root_id uuid,
    ADD COLUMN depth   smallint NOT NULL DEFAULT 0,
    ADD CONSTRAINT job_root CHECK ((root_id IS NULL) = (depth = 0));

ALTER TABLE job NO FORCE ROW LEVEL SECURITY;
ALTER TABLE job_dependency NO FORCE ROW LEVEL SECURITY;

-- An agent's job and its link are of one transaction, and so of one time; links that people
-- made later are not.
WITH RECURSIVE found AS MATERIALIZED (
    SELECT DISTINCT ON (j.workspace_id, j.id) j.workspace_id, j.id, x.depends_on_id AS parent_id
    FROM job_dependency x JOIN job j ON j.workspace_id = x.workspace_id AND j.id = x.job_id
    WHERE x.type = 'discovered_from' AND x.created_at = j.created_at
    ORDER BY j.workspace_id, j.id, x.depends_on_id
), lineage AS (
    SELECT f.workspace_id, f.id, f.parent_id AS root_id, 1 AS depth FROM found f
    WHERE NOT EXISTS (SELECT FROM found p WHERE p.workspace_id = f.workspace_id AND p.id = f.parent_id)
    UNION ALL
    SELECT f.workspace_id, f.id, l.root_id, l.depth + 1
    FROM lineage l JOIN found f ON f.workspace_id = l.workspace_id AND f.parent_id = l.id
    WHERE l.depth < 32767
)
UPDATE job SET root_id = l.root_id, depth = l.depth FROM lineage l WHERE job.workspace_id = l.workspace_id AND job.id = l.id;

ALTER TABLE job FORCE ROW LEVEL SECURITY;
ALTER TABLE job_dependency FORCE ROW LEVEL SECURITY;

-- What agents filed below a root: what is open of it, and what came lately.
CREATE INDEX job_root_open ON job (workspace_id, root_id)
    WHERE root_id IS NOT NULL AND status NOT IN ('completed', 'failed', 'aborted', 'archived');
CREATE INDEX job_root_created ON job (workspace_id, root_id, created_at) WHERE root_id IS NOT NULL;
