-- +goose Up

-- What a line of several usage entries is made of: the entries in the order in which they were
-- charged, and how much of the line each is. NULL where the line is of one entry, or of none;
-- entry_unpriced is NULL also where all have a price. They are not compressed: that would cost
-- reports of usage more than all else about their lines.
ALTER TABLE budget_ledger
    ADD COLUMN entries text[],
    ADD COLUMN entry_nanos bigint[],
    ADD COLUMN entry_tokens bigint[],
    ADD COLUMN entry_unpriced bigint[];
ALTER TABLE budget_ledger
    ALTER COLUMN entries SET STORAGE EXTERNAL,
    ALTER COLUMN entry_nanos SET STORAGE EXTERNAL,
    ALTER COLUMN entry_tokens SET STORAGE EXTERNAL,
    ALTER COLUMN entry_unpriced SET STORAGE EXTERNAL;
ALTER TABLE budget_ledger ADD CONSTRAINT budget_ledger_entries_check CHECK (cardinality(entries) = cardinality(entry_nanos)
    AND cardinality(entries) = cardinality(entry_tokens)) NOT VALID;
ALTER TABLE budget_ledger VALIDATE CONSTRAINT budget_ledger_entries_check;

-- A ledger is read period by period. A line is found by its budget and its id, never by the id
-- alone.
ALTER TABLE budget_ledger DROP CONSTRAINT budget_ledger_pkey;
DROP INDEX budget_ledger_period;
ALTER TABLE budget_ledger ADD PRIMARY KEY (workspace_id, budget_id, id);
CREATE INDEX budget_ledger_period ON budget_ledger (workspace_id, budget_id, period_start, id);
