-- Which runs may forget what a provider has otherwise: those that could have seen it.
-- And what posts may still be signed with, where an account in the middle of a change of
-- its secret was connected again with another.

-- +goose Up
-- When the provider has it; null where it does not say.
ALTER TABLE drifts ADD COLUMN starts_at   TEXT;
-- From when on the import reads that saw it last; null of a comparison.
ALTER TABLE drifts ADD COLUMN import_from TEXT;

ALTER TABLE connections ADD COLUMN secret_older BLOB;

-- +goose Down
ALTER TABLE connections DROP COLUMN secret_older;
ALTER TABLE drifts DROP COLUMN import_from;
ALTER TABLE drifts DROP COLUMN starts_at;
