-- What clients told in intake forms, and the notes about them: health data, kept
-- of a connection only on request.

-- +goose Up
ALTER TABLE connections ADD COLUMN keep_forms boolean NOT NULL DEFAULT false;

-- One row of a booking, the newest that its provider told.
CREATE TABLE booking_forms (
    id            uuid        NOT NULL PRIMARY KEY REFERENCES bookings (id),
    connection_id uuid        NOT NULL REFERENCES connections (id),
    forms         bytea       NOT NULL, -- sealed
    -- The ticket of the answer that said so: an older one overwrites nothing.
    told_at       timestamptz NOT NULL
);
CREATE INDEX booking_forms_connection ON booking_forms (connection_id);
CREATE INDEX booking_forms_oldest ON booking_forms (told_at);

ALTER TABLE retention_runs ADD COLUMN forms bigint NOT NULL DEFAULT 0;

-- +goose Down
ALTER TABLE retention_runs DROP COLUMN forms;
DROP TABLE booking_forms;
ALTER TABLE connections DROP COLUMN keep_forms;
