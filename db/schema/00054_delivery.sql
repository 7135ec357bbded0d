-- +goose Up

SELECT add_event_types('job.delivered', 'job.delivery_refused');

-- What became of the commit of an attempt after its end, as its factory tells: '' where it
-- tells nothing, awaited where it said that it will. A merge waits for what is awaited.
ALTER TABLE attempt
    ADD COLUMN delivery        text NOT NULL DEFAULT '',
    ADD COLUMN delivery_branch text NOT NULL DEFAULT '',
    ADD COLUMN delivery_commit text NOT NULL DEFAULT '',
    ADD COLUMN delivery_detail text NOT NULL DEFAULT '',
    ADD COLUMN delivery_at     timestamptz,
    -- How often that changed: a factory may change it so often and no more.
    ADD COLUMN delivery_tellings smallint NOT NULL DEFAULT 0;
ALTER TABLE attempt ADD CONSTRAINT attempt_delivery CHECK (delivery IN ('', 'awaited', 'local', 'pushed', 'refused')
    AND char_length(delivery_branch) <= 255 AND char_length(delivery_commit) <= 100 AND char_length(delivery_detail) <= 2000
    AND (delivery IN ('', 'awaited')) = (delivery_at IS NULL)) NOT VALID;
ALTER TABLE attempt VALIDATE CONSTRAINT attempt_delivery;
