-- +goose Up

SELECT add_event_types('job.delivered', 'job.delivery_refused');

-- What became of the commit of an attempt after its end, as its factory tells: '' where it
-- tells nothing, awaited where it said that it will. A merge waits for what is awaited.
-- delivery_tellings is how often that changed: a factory may change it so often and no more.
ALTER TABLE attempt
    ADD COLUMN delivery          text NOT NULL DEFAULT '' CHECK (delivery IN ('', 'awaited', 'local', 'pushed', 'refused')),
    ADD COLUMN delivery_branch   text NOT NULL DEFAULT '' CHECK (char_length(delivery_branch) <= 255),
    ADD COLUMN delivery_commit   text NOT NULL DEFAULT '' CHECK (char_length(delivery_commit) <= 100),
    ADD COLUMN delivery_detail   text NOT NULL DEFAULT '' CHECK (char_length(delivery_detail) <= 2000),
    ADD COLUMN delivery_at       timestamptz,
    ADD COLUMN delivery_tellings smallint NOT NULL DEFAULT 0,
    ADD CHECK ((delivery IN ('', 'awaited')) = (delivery_at IS NULL));
