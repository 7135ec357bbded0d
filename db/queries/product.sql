-- name: ProductList :many
SELECT p.id, p.name, p.review_required, p.one_job_per_repo, p.review_limit, p.paused,
    ARRAY(SELECT r.repo FROM product_repo r
        WHERE r.workspace_id = p.workspace_id AND r.product_id = p.id ORDER BY r.repo)::text[] AS repos
FROM product p WHERE p.workspace_id = @workspace_id ORDER BY p.name;
