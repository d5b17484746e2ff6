-- +goose Up
CREATE EXTENSION IF NOT EXISTS btree_gist;

CREATE TABLE sessions (
    id          uuid    PRIMARY KEY,
    external_id text    NOT NULL,
    provider    text    NOT NULL,
    api_base    text    NOT NULL,
    starts_at   timestamptz,
    ends_at     timestamptz,
    capacity    integer,
    seated      boolean NOT NULL,
    hosts       text    NOT NULL,
    added_hosts text    NOT NULL,
    host_emails text    NOT NULL,
    clocks      text    NOT NULL,
    CONSTRAINT sessions_identity UNIQUE (external_id, provider, api_base),
    CONSTRAINT sessions_time CHECK ((starts_at IS NULL) = (ends_at IS NULL) AND ends_at > starts_at),
    CONSTRAINT sessions_length CHECK (ends_at - starts_at <= interval '31 days')
);
CREATE INDEX sessions_start ON sessions (starts_at, id);

-- The hosts that count now, one a row: from a host to its sessions.
CREATE TABLE session_hosts (
    session_id  uuid NOT NULL REFERENCES sessions (id),
    external_id text NOT NULL,
    email       text NOT NULL,
    PRIMARY KEY (session_id, external_id)
);
CREATE INDEX session_hosts_host ON session_hosts (external_id);
CREATE INDEX session_hosts_email ON session_hosts (email) WHERE email <> '';

-- Which resources a session is about, claimed or not: what a person mapped
-- beats the e-mail, which beats what the provider's name was first mapped to.
CREATE VIEW session_resources AS
SELECT h.session_id, CASE WHEN i.pinned THEN i.resource_id ELSE coalesce(e.resource_id, i.resource_id) END AS resource_id
FROM session_hosts h
JOIN sessions s ON s.id = h.session_id
LEFT JOIN identities i ON i.external_id = h.external_id AND i.provider = s.provider AND i.api_base = s.api_base
LEFT JOIN identities e ON e.external_id = h.email AND e.provider = '' AND e.api_base = ''
WHERE CASE WHEN i.pinned THEN i.resource_id ELSE coalesce(e.resource_id, i.resource_id) END IS NOT NULL;

CREATE TABLE bookings (
    id               uuid    PRIMARY KEY,
    external_id      text    NOT NULL,
    provider         text    NOT NULL,
    api_base         text    NOT NULL,
    seat             text    NOT NULL,
    opened_at        timestamptz,
    -- Unknown of one that only a link told of.
    session_id       uuid    REFERENCES sessions (id),
    status           text    NOT NULL CONSTRAINT bookings_status CHECK (status IN
        ('pending', 'active', 'conflicted', 'canceled')),
    reason           text    NOT NULL,
    title            text    NOT NULL,
    location         text    NOT NULL,
    invitee_name     text    NOT NULL,
    invitee_email    text    NOT NULL,
    invitee_phone    text    NOT NULL,
    invitee_timezone text    NOT NULL,
    no_show          boolean NOT NULL,
    booked_at        timestamptz,
    chain_id         uuid    NOT NULL,
    supersedes       uuid,
    superseded_by    uuid,
    conflicts_with   text    NOT NULL,
    overlap_accepted boolean NOT NULL,
    connection_id    uuid    NOT NULL REFERENCES connections (id),
    last_receipt_id  uuid    REFERENCES webhook_receipts (id),
    clocks           text    NOT NULL,
    CONSTRAINT bookings_reason CHECK (
        (status = 'pending' AND reason IN (''))
        OR (status = 'active' AND reason IN ('', 'unmapped'))
        OR (status = 'conflicted' AND reason IN ('slot_taken', 'overlap', 'capacity_full'))
        OR (status = 'canceled' AND reason IN ('canceled', 'removed', 'declined', 'rescheduled'))),
    CONSTRAINT bookings_identity UNIQUE NULLS NOT DISTINCT (external_id, provider, api_base, seat, opened_at)
);
CREATE INDEX bookings_session ON bookings (session_id);
CREATE INDEX bookings_chain ON bookings (chain_id);

CREATE TABLE attendances (
    external_id      text    NOT NULL,
    provider         text    NOT NULL,
    api_base         text    NOT NULL,
    key              text    NOT NULL,
    close_reason     text    NOT NULL CONSTRAINT attendances_close_reason CHECK (close_reason IN
        ('', 'canceled', 'removed', 'declined', 'rescheduled')),
    strongest        text    NOT NULL CONSTRAINT attendances_strongest CHECK (strongest IN
        ('', 'canceled', 'removed', 'declined', 'rescheduled')),
    alone            boolean NOT NULL,
    title            text    NOT NULL,
    location         text    NOT NULL,
    invitee_name     text    NOT NULL,
    invitee_email    text    NOT NULL,
    invitee_phone    text    NOT NULL,
    invitee_timezone text    NOT NULL,
    no_show          boolean NOT NULL,
    booked_at        timestamptz,
    listed           text    NOT NULL,
    clocks           text    NOT NULL,
    PRIMARY KEY (external_id, key, provider, api_base)
);

CREATE TABLE links (
    predecessor text NOT NULL,
    successor   text NOT NULL,
    key         text NOT NULL,
    provider    text NOT NULL,
    api_base    text NOT NULL,
    clock       text NOT NULL,
    PRIMARY KEY (predecessor, successor, key, provider, api_base)
);
CREATE INDEX links_successor ON links (successor);

CREATE TABLE slots (
    id          uuid        PRIMARY KEY,
    session_id  uuid        NOT NULL REFERENCES sessions (id),
    resource_id uuid        NOT NULL REFERENCES resources (id),
    starts_at   timestamptz NOT NULL,
    ends_at     timestamptz NOT NULL,
    status      text        NOT NULL CONSTRAINT slots_status CHECK (status IN ('active', 'tentative', 'waiting', 'released')),
    receipt_id  uuid        REFERENCES webhook_receipts (id),
    CONSTRAINT slots_time CHECK (ends_at > starts_at),
    CONSTRAINT slots_length CHECK (ends_at - starts_at <= interval '31 days')
);
-- In this order, so that a rival for the same instant is refused by the first.
CREATE UNIQUE INDEX one_booking_per_slot ON slots (resource_id, starts_at) WHERE status = 'active';
ALTER TABLE slots ADD CONSTRAINT no_overlapping_slots EXCLUDE USING gist
    (resource_id WITH =, tstzrange(starts_at, ends_at, '[)') WITH &&) WHERE (status = 'active');
CREATE INDEX slots_window ON slots (resource_id, starts_at, ends_at) WHERE status <> 'released';
CREATE INDEX slots_start ON slots (starts_at, id);
CREATE INDEX slots_session ON slots (session_id);

-- To move, a claim is released and made anew: its row says what was held when.
CREATE TRIGGER slots_never_move BEFORE UPDATE ON slots
    FOR EACH ROW WHEN (NEW.session_id <> OLD.session_id OR NEW.resource_id <> OLD.resource_id
        OR NEW.starts_at <> OLD.starts_at OR NEW.ends_at <> OLD.ends_at)
    EXECUTE FUNCTION refuse_change('slots_never_move');

-- +goose Down
DROP TABLE slots;
DROP TABLE links;
DROP TABLE attendances;
DROP TABLE bookings;
DROP VIEW session_resources;
DROP TABLE session_hosts;
DROP TABLE sessions;
