-- +goose Up

-- The deliveries of one message, and no range of them: a range is read of one inbox.
DROP INDEX message_delivery_seq;
CREATE INDEX message_delivery_seq ON message_delivery USING hash (seq);
