-- +goose Up

-- Who did it: names change, ids do not. An account's, an agent's or an enrolment
-- token's id, of the system its loop's name; '' in events older than this column.
ALTER TABLE event ADD COLUMN actor_id text NOT NULL DEFAULT '';
