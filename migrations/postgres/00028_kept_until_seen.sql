-- Which runs may forget what a provider has otherwise: those that could have seen it.
-- And what posts may still be signed with, where an account in the middle of a change of
-- its secret was connected again with another.

-- +goose Up
ALTER TABLE drifts
    -- When the provider has it; null where it does not say.
    ADD COLUMN starts_at   timestamptz,
    -- From when on the import reads that saw it last; null of a comparison.
    ADD COLUMN import_from timestamptz;

ALTER TABLE connections ADD COLUMN secret_older bytea;

-- +goose Down
ALTER TABLE connections DROP COLUMN secret_older;
ALTER TABLE drifts DROP COLUMN import_from, DROP COLUMN starts_at;
