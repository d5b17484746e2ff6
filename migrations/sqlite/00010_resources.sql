-- A name that a person gave is not overwritten by what providers tell.

-- +goose Up
ALTER TABLE resources ADD COLUMN name_given INTEGER NOT NULL DEFAULT 0;

-- +goose Down
ALTER TABLE resources DROP COLUMN name_given;
