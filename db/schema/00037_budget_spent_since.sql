-- +goose Up

-- When a budget was first charged, in whichever period: the history of its spending goes
-- back to it, also where no hour's row does.
ALTER TABLE budget ADD COLUMN spent_since timestamptz;
