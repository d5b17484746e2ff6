-- +goose Up
CREATE TABLE transitions (
    seq          bigint      PRIMARY KEY CONSTRAINT transitions_seq CHECK (seq > 0),
    id           uuid        NOT NULL,
    booking_id   uuid        NOT NULL REFERENCES bookings (id),
    receipt_id   uuid        REFERENCES webhook_receipts (id),
    event        text        NOT NULL CONSTRAINT transitions_event CHECK (event IN
        ('request', 'create', 'move', 'cancel', 'release', 'details', 'no_show', 'accept_overlap')),
    "from"       text        NOT NULL CONSTRAINT transitions_from CHECK ("from" IN
        ('', 'pending', 'active', 'conflicted', 'canceled')),
    "to"         text        NOT NULL CONSTRAINT transitions_to CHECK ("to" IN
        ('', 'pending', 'active', 'conflicted', 'canceled')),
    outcome      text        NOT NULL CONSTRAINT transitions_outcome CHECK (outcome IN ('applied', 'rejected')),
    reason       text        NOT NULL CONSTRAINT transitions_reason CHECK (reason IN
        ('', 'canceled', 'removed', 'declined', 'rescheduled', 'slot_taken', 'overlap', 'capacity_full', 'unmapped',
         'illegal_transition', 'stale')),
    holder_id    uuid,
    "constraint" text        NOT NULL,
    actor        text        NOT NULL CONSTRAINT transitions_actor CHECK (actor IN
        ('webhook', 'backfill', 'reconcile', 'replay', 'system') OR actor LIKE 'user:%' OR actor LIKE 'token:%'),
    occurred_at  timestamptz NOT NULL,
    recorded_at  timestamptz NOT NULL,
    prev         bytea       NOT NULL CONSTRAINT transitions_prev CHECK (length(prev) = 32),
    hash         bytea       NOT NULL CONSTRAINT transitions_hash CHECK (length(hash) = 32),
    CONSTRAINT transitions_id UNIQUE (id)
);
CREATE INDEX transitions_booking ON transitions (booking_id, seq);
CREATE INDEX transitions_receipt ON transitions (receipt_id, seq);
CREATE INDEX transitions_recorded ON transitions (recorded_at);
CREATE INDEX transitions_refused ON transitions (reason, seq) WHERE outcome = 'rejected';

CREATE TRIGGER transitions_append_only BEFORE UPDATE OR DELETE ON transitions
    FOR EACH ROW EXECUTE FUNCTION refuse_change('transitions_append_only');
CREATE TRIGGER transitions_no_truncate BEFORE TRUNCATE ON transitions
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change('transitions_append_only');

-- +goose Down
DROP TABLE transitions;
