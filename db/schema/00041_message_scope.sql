-- +goose Up

-- The products of its sender's token, where that is limited and the message is about no
-- product: agents that reach none of them do not get it. product_id is from now on that of
-- the message's job, else that of its thread.
ALTER TABLE message ADD COLUMN sender_products uuid[];

-- Whose share of the inbox a message takes: its sender's. The server has none.
ALTER TABLE message_delivery ADD COLUMN sender_products uuid[], ADD COLUMN from_id uuid;

-- The owner changes what is there, which forced policies would hide from it.
ALTER TABLE job NO FORCE ROW LEVEL SECURITY;
ALTER TABLE message NO FORCE ROW LEVEL SECURITY;
ALTER TABLE message_delivery NO FORCE ROW LEVEL SECURITY;

-- What was said in the thread of a job is about its product.
UPDATE message m SET product_id = j.product_id FROM job j
WHERE m.product_id IS NULL AND j.workspace_id = m.workspace_id AND j.key = m.correlation_id;

UPDATE message_delivery d SET product_id = m.product_id, from_id = m.from_id FROM message m
WHERE m.workspace_id = d.workspace_id AND m.seq = d.seq AND (m.product_id IS NOT NULL OR m.from_id IS NOT NULL);

ALTER TABLE job FORCE ROW LEVEL SECURITY;
ALTER TABLE message FORCE ROW LEVEL SECURITY;
ALTER TABLE message_delivery FORCE ROW LEVEL SECURITY;
