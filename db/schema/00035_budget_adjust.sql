-- +goose Up
SELECT add_event_types('budget.adjusted', 'budget.repaired');

-- What did not fit: an amount that leases held of a period beyond what it had reserved. It
-- is booked as a line of its own, so that no lease depends on an accounting row being right.
ALTER TABLE budget_ledger DROP CONSTRAINT budget_ledger_kind_check;
ALTER TABLE budget_ledger ADD CONSTRAINT budget_ledger_kind_check CHECK (kind IN ('grant', 'raise', 'expire', 'transfer_in', 'transfer_out',
    'reserve', 'top_up', 'settle', 'free', 'adjust')) NOT VALID;
ALTER TABLE budget_ledger VALIDATE CONSTRAINT budget_ledger_kind_check;
CREATE INDEX budget_ledger_adjust ON budget_ledger (workspace_id, budget_id, period_start, id) WHERE kind = 'adjust';

-- A budget that gets more money tells of its thresholds anew.
GRANT DELETE ON budget_alert TO fleetboard_app;
