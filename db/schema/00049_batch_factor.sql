-- +goose Up

-- What tokens cost that were used in a provider's batches, in thousandths of the price.
ALTER TABLE price ADD COLUMN batch_permille smallint NOT NULL DEFAULT 1000 CHECK (batch_permille BETWEEN 0 AND 1000);

-- Whether an entry was used in a batch, as it was told first.
ALTER TABLE usage_entry ADD COLUMN batch boolean NOT NULL DEFAULT false;
