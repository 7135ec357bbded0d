-- +goose Up

-- Names of requests are kept as digests: a name may be what its sender took for unique, such
-- as a line with a secret in it.
-- A policy that is forced hides the rows from an owner that is no superuser.
ALTER TABLE idempotent_request NO FORCE ROW LEVEL SECURITY;
UPDATE idempotent_request SET key = 'sha256:' || encode(sha256(convert_to(key, 'UTF8')), 'hex');
ALTER TABLE idempotent_request FORCE ROW LEVEL SECURITY;
