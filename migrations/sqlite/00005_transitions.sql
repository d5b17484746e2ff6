-- +goose Up
CREATE TABLE transitions (
    seq          integer PRIMARY KEY CONSTRAINT transitions_seq CHECK (seq > 0),
    id           text    NOT NULL,
    booking_id   text    NOT NULL REFERENCES bookings (id),
    receipt_id   text    REFERENCES webhook_receipts (id),
    event        text    NOT NULL CONSTRAINT transitions_event CHECK (event IN
        ('request', 'create', 'move', 'cancel', 'release', 'details', 'no_show', 'accept_overlap')),
    "from"       text    NOT NULL CONSTRAINT transitions_from CHECK ("from" IN
        ('', 'pending', 'active', 'conflicted', 'canceled')),
    "to"         text    NOT NULL CONSTRAINT transitions_to CHECK ("to" IN
        ('', 'pending', 'active', 'conflicted', 'canceled')),
    outcome      text    NOT NULL CONSTRAINT transitions_outcome CHECK (outcome IN ('applied', 'rejected')),
    reason       text    NOT NULL CONSTRAINT transitions_reason CHECK (reason IN
        ('', 'canceled', 'removed', 'declined', 'rescheduled', 'slot_taken', 'overlap', 'capacity_full', 'unmapped',
         'illegal_transition', 'stale')),
    holder_id    text,
    "constraint" text    NOT NULL,
    actor        text    NOT NULL CONSTRAINT transitions_actor CHECK (actor IN
        ('webhook', 'backfill', 'reconcile', 'replay', 'system') OR actor LIKE 'user:%' OR actor LIKE 'token:%'),
    occurred_at  text    NOT NULL,
    recorded_at  text    NOT NULL,
    prev         blob    NOT NULL CONSTRAINT transitions_prev CHECK (length(prev) = 32),
    hash         blob    NOT NULL CONSTRAINT transitions_hash CHECK (length(hash) = 32),
    CONSTRAINT transitions_id UNIQUE (id)
) STRICT;
CREATE INDEX transitions_booking ON transitions (booking_id, seq);
CREATE INDEX transitions_receipt ON transitions (receipt_id, seq);
CREATE INDEX transitions_recorded ON transitions (recorded_at);
CREATE INDEX transitions_refused ON transitions (reason, seq) WHERE outcome = 'rejected';

-- +goose StatementBegin
CREATE TRIGGER transitions_append_only BEFORE UPDATE ON transitions
BEGIN
    SELECT RAISE(ABORT, 'transitions_append_only');
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER transitions_no_delete BEFORE DELETE ON transitions
BEGIN
    SELECT RAISE(ABORT, 'transitions_append_only');
END;
-- +goose StatementEnd
-- INSERT OR REPLACE deletes without firing the trigger above.
-- +goose StatementBegin
CREATE TRIGGER transitions_no_replace BEFORE INSERT ON transitions
WHEN EXISTS (SELECT 1 FROM transitions t WHERE t.seq = NEW.seq OR t.id = NEW.id)
BEGIN
    SELECT RAISE(ABORT, 'transitions_append_only');
END;
-- +goose StatementEnd

-- +goose Down
DROP TABLE transitions;
