-- name: ProductList :many
SELECT p.id, p.name, p.review_required, p.serialise, p.review_limit, p.paused,
    p.merge_by, p.merge_method, p.merge_into, p.merge_checks, p.proof_command, p.branch_retention_days, p.models,
    p.verify_mode, p.verify_capabilities, p.verify_rounds, p.verify_distinct,
    p.auto_approve, p.auto_max_lines, p.auto_max_files, p.auto_deny_paths, p.auto_require_verdict,
    ARRAY(SELECT r.repo FROM product_repo r
        WHERE r.workspace_id = p.workspace_id AND r.product_id = p.id ORDER BY r.repo)::text[] AS repos
FROM product p WHERE p.workspace_id = @workspace_id ORDER BY p.name;

-- name: ProductOfRepo :many
-- The product that owns a repo; no row where none does.
SELECT p.id, p.name FROM product_repo r JOIN product p ON p.workspace_id = r.workspace_id AND p.id = r.product_id
WHERE r.workspace_id = @workspace_id AND r.repo = @repo;

-- name: ProductSave :exec
-- Makes a product or replaces its settings.
INSERT INTO product (workspace_id, id, name, review_required, serialise, review_limit, paused,
    merge_by, merge_method, merge_into, merge_checks, proof_command, branch_retention_days, models,
    verify_mode, verify_capabilities, verify_rounds, verify_distinct,
    auto_approve, auto_max_lines, auto_max_files, auto_deny_paths, auto_require_verdict)
VALUES (@workspace_id, @id, @name, @review_required, @serialise, sqlc.narg('review_limit'), @paused,
    @merge_by, @merge_method, @merge_into, @merge_checks, @proof_command, @branch_retention_days, @models,
    @verify_mode, @verify_capabilities, @verify_rounds, @verify_distinct,
    @auto_approve, @auto_max_lines, @auto_max_files, @auto_deny_paths, @auto_require_verdict)
ON CONFLICT (workspace_id, id) DO UPDATE SET review_required = excluded.review_required,
    serialise = excluded.serialise, review_limit = excluded.review_limit, paused = excluded.paused,
    merge_by = excluded.merge_by, merge_method = excluded.merge_method, merge_into = excluded.merge_into,
    merge_checks = excluded.merge_checks, proof_command = excluded.proof_command, branch_retention_days = excluded.branch_retention_days,
    models = excluded.models, verify_mode = excluded.verify_mode, verify_capabilities = excluded.verify_capabilities,
    verify_rounds = excluded.verify_rounds, verify_distinct = excluded.verify_distinct,
    auto_approve = excluded.auto_approve, auto_max_lines = excluded.auto_max_lines, auto_max_files = excluded.auto_max_files,
    auto_deny_paths = excluded.auto_deny_paths, auto_require_verdict = excluded.auto_require_verdict, updated_at = now();

-- name: ProductModels :many
-- The tables of models of the products that have one.
SELECT p.id, p.name, p.models FROM product p WHERE p.workspace_id = @workspace_id AND p.models <> '{}';

-- name: ProductReposSave :exec
-- Gives a product exactly these repos.
WITH gone AS (
    DELETE FROM product_repo r
    WHERE r.workspace_id = @workspace_id AND r.product_id = @product_id AND r.repo <> ALL(@repos::text[])
)
INSERT INTO product_repo (workspace_id, repo, product_id)
SELECT @workspace_id, unnest(@repos::text[]), @product_id
ON CONFLICT DO NOTHING;

-- name: ProductLock :one
-- Locks a product against new jobs, before it is taken away.
SELECT id FROM product WHERE workspace_id = @workspace_id AND id = @id FOR UPDATE;

-- name: ProductDelete :exec
DELETE FROM product WHERE workspace_id = @workspace_id AND id = @id;
