-- +goose Up

-- The enrolment token that a factory belongs to: of the agents that described it
-- before, one of a token that reaches as far as any.
ALTER TABLE factory ADD COLUMN enrolment_id uuid;
UPDATE factory f SET enrolment_id = (
    SELECT a.enrolment_id FROM agent a
    JOIN access_token t ON t.workspace_id = a.workspace_id AND t.id = a.enrolment_id
    WHERE a.workspace_id = f.workspace_id AND a.factory_id = f.id
    ORDER BY t.revoked_at IS NULL DESC, t.products = '{}' DESC, t.capabilities = '{}' DESC, a.created_at LIMIT 1);

-- Whether an agent that a person ended may end its jobs.
ALTER TABLE agent ADD COLUMN ended_gracefully boolean NOT NULL DEFAULT false;
