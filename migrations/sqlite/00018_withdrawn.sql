-- A cancel that was asked for can be taken back before it is carried out: by hand,
-- or because somebody accepts the overlap that it was to end. SQLite changes no
-- CHECK: the table is made anew.

-- +goose Up
CREATE TABLE effects_next (
    seq           integer PRIMARY KEY AUTOINCREMENT,
    id            text    NOT NULL,
    -- The transition or the operator's action that asked for it.
    action        text    NOT NULL,
    kind          text    NOT NULL CONSTRAINT effects_kind CHECK (kind <> ''),
    target        text    NOT NULL,
    booking_id    text    REFERENCES bookings (id),
    connection_id text    REFERENCES connections (id),
    payload       blob,
    request_id    text    NOT NULL,
    actor         text    NOT NULL CONSTRAINT effects_actor CHECK (actor IN
        ('webhook', 'backfill', 'reconcile', 'replay', 'system') OR actor LIKE 'user:%' OR actor LIKE 'token:%'),
    status        text    NOT NULL CONSTRAINT effects_status CHECK (status IN ('pending', 'failed', 'done', 'dead', 'withdrawn')),
    -- Tries begun: the number also tells a try from the one before it, whose
    -- process came back late.
    attempts      integer NOT NULL DEFAULT 0,
    -- Of these, begun before a person last asked to try again.
    attempts_before integer NOT NULL DEFAULT 0,
    error         text    NOT NULL DEFAULT '',
    created_at    text    NOT NULL,
    due_at        text    NOT NULL,
    claimed_until text,
    done_at       text,
    CONSTRAINT effects_id UNIQUE (id),
    CONSTRAINT one_effect_per_action UNIQUE (action, kind, target),
    -- When it was done or withdrawn.
    CONSTRAINT effects_done CHECK ((status IN ('done', 'withdrawn')) = (done_at IS NOT NULL))
) STRICT;
INSERT INTO effects_next (seq, id, action, kind, target, booking_id, connection_id, payload, request_id, actor, status, attempts, attempts_before, error,
        created_at, due_at, claimed_until, done_at)
    SELECT seq, id, action, kind, target, booking_id, connection_id, payload, request_id, actor, status, attempts, attempts_before, error,
        created_at, due_at, claimed_until, done_at FROM effects;
DROP TABLE effects;
ALTER TABLE effects_next RENAME TO effects;
CREATE INDEX effects_booking ON effects (booking_id, seq);
CREATE INDEX effects_open ON effects (booking_id, target, seq) WHERE status IN ('pending', 'failed');
CREATE INDEX effects_due ON effects (due_at) WHERE status IN ('pending', 'failed');
CREATE INDEX effects_undone ON effects (kind, status) WHERE status NOT IN ('done', 'withdrawn');
-- Two people who cancel one booking at once cancel it once.
CREATE UNIQUE INDEX one_open_cancel ON effects (booking_id) WHERE kind = 'cancel_at_provider' AND status IN ('pending', 'failed');

-- +goose Down
CREATE TABLE effects_before (
    seq           integer PRIMARY KEY AUTOINCREMENT,
    id            text    NOT NULL,
    -- The transition or the operator's action that asked for it.
    action        text    NOT NULL,
    kind          text    NOT NULL CONSTRAINT effects_kind CHECK (kind <> ''),
    target        text    NOT NULL,
    booking_id    text    REFERENCES bookings (id),
    connection_id text    REFERENCES connections (id),
    payload       blob,
    request_id    text    NOT NULL,
    actor         text    NOT NULL CONSTRAINT effects_actor CHECK (actor IN
        ('webhook', 'backfill', 'reconcile', 'replay', 'system') OR actor LIKE 'user:%' OR actor LIKE 'token:%'),
    status        text    NOT NULL CONSTRAINT effects_status CHECK (status IN ('pending', 'failed', 'done', 'dead')),
    -- Tries begun: the number also tells a try from the one before it, whose
    -- process came back late.
    attempts      integer NOT NULL DEFAULT 0,
    -- Of these, begun before a person last asked to try again.
    attempts_before integer NOT NULL DEFAULT 0,
    error         text    NOT NULL DEFAULT '',
    created_at    text    NOT NULL,
    due_at        text    NOT NULL,
    claimed_until text,
    done_at       text,
    CONSTRAINT effects_id UNIQUE (id),
    CONSTRAINT one_effect_per_action UNIQUE (action, kind, target),
    CONSTRAINT effects_done CHECK ((status = 'done') = (done_at IS NOT NULL))
) STRICT;
INSERT INTO effects_before (seq, id, action, kind, target, booking_id, connection_id, payload, request_id, actor, status, attempts, attempts_before, error,
        created_at, due_at, claimed_until, done_at)
    SELECT seq, id, action, kind, target, booking_id, connection_id, payload, request_id, actor, CASE status WHEN 'withdrawn' THEN 'dead' ELSE status END, attempts, attempts_before, error,
        created_at, due_at, claimed_until, CASE status WHEN 'done' THEN done_at END FROM effects;
DROP TABLE effects;
ALTER TABLE effects_before RENAME TO effects;
CREATE INDEX effects_booking ON effects (booking_id, seq);
CREATE INDEX effects_open ON effects (booking_id, target, seq) WHERE status IN ('pending', 'failed');
CREATE INDEX effects_due ON effects (due_at) WHERE status IN ('pending', 'failed');
CREATE INDEX effects_undone ON effects (kind, status) WHERE status <> 'done';
-- Two people who cancel one booking at once cancel it once.
CREATE UNIQUE INDEX one_open_cancel ON effects (booking_id) WHERE kind = 'cancel_at_provider' AND status IN ('pending', 'failed');
