-- +goose Up

-- A request id is kept without the secrets of jobs that its agent held. The digest of
-- what the agent said, under the server's secret key, is by what the same request finds
-- its leases again; NULL where request_id is what it said.
ALTER TABLE job_lease ADD COLUMN request_digest bytea;
