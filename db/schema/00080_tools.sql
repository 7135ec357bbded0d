-- +goose Up

-- When a person's token last called a tool over the Model Context Protocol, and with which
-- program: the Connect page says so to whoever just set one up.
ALTER TABLE access_token
    ADD COLUMN tools_at timestamptz,
    ADD COLUMN tools_program text NOT NULL DEFAULT '' CHECK (char_length(tools_program) <= 100);
