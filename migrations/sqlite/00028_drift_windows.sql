-- Which runs may forget what a provider has otherwise: those that could have seen it.

-- +goose Up
-- When the provider has it; null where it does not say.
ALTER TABLE drifts ADD COLUMN starts_at   TEXT;
-- From when on the import reads that saw it last; null of a comparison.
ALTER TABLE drifts ADD COLUMN import_from TEXT;

-- +goose Down
ALTER TABLE drifts DROP COLUMN import_from;
ALTER TABLE drifts DROP COLUMN starts_at;
