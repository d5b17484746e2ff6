-- What is to be done outside because of a transition or an operator's action:
-- asked for in the transaction of its cause, done after it, in order of seq for
-- each booking and target.

-- +goose Up
CREATE TABLE effects (
    seq           bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id            uuid        NOT NULL,
    -- The transition or the operator's action that asked for it.
    action        uuid        NOT NULL,
    kind          text        NOT NULL CONSTRAINT effects_kind CHECK (kind <> ''),
    target        text        NOT NULL,
    booking_id    uuid        REFERENCES bookings (id),
    connection_id uuid        REFERENCES connections (id),
    payload       bytea,
    request_id    text        NOT NULL,
    actor         text        NOT NULL CONSTRAINT effects_actor CHECK (actor IN
        ('webhook', 'backfill', 'reconcile', 'replay', 'system') OR actor LIKE 'user:%' OR actor LIKE 'token:%'),
    status        text        NOT NULL CONSTRAINT effects_status CHECK (status IN ('pending', 'failed', 'done', 'dead')),
    -- Tries begun: the number also tells a try from the one before it, whose
    -- process came back late.
    attempts      integer     NOT NULL DEFAULT 0,
    -- Of these, begun before a person last asked to try again.
    attempts_before integer   NOT NULL DEFAULT 0,
    error         text        NOT NULL DEFAULT '',
    created_at    timestamptz NOT NULL,
    due_at        timestamptz NOT NULL,
    claimed_until timestamptz,
    done_at       timestamptz,
    CONSTRAINT effects_id UNIQUE (id),
    CONSTRAINT one_effect_per_action UNIQUE (action, kind, target),
    CONSTRAINT effects_done CHECK ((status = 'done') = (done_at IS NOT NULL))
);
CREATE INDEX effects_booking ON effects (booking_id, seq);
CREATE INDEX effects_open ON effects (booking_id, target, seq) WHERE status IN ('pending', 'failed');
CREATE INDEX effects_due ON effects (due_at) WHERE status IN ('pending', 'failed');
CREATE INDEX effects_undone ON effects (kind, status) WHERE status <> 'done';
-- Two people who cancel one booking at once cancel it once.
CREATE UNIQUE INDEX one_open_cancel ON effects (booking_id) WHERE kind = 'cancel_at_provider' AND status IN ('pending', 'failed');

-- +goose Down
DROP TABLE effects;
