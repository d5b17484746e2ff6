-- Which runs may forget what a provider has otherwise: those that could have seen it.

-- +goose Up
ALTER TABLE drifts
    -- When the provider has it; null where it does not say.
    ADD COLUMN starts_at   timestamptz,
    -- From when on the import reads that saw it last; null of a comparison.
    ADD COLUMN import_from timestamptz;

-- +goose Down
ALTER TABLE drifts DROP COLUMN import_from, DROP COLUMN starts_at;
