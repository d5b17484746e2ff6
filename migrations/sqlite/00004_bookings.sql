-- +goose Up
CREATE TABLE sessions (
    id          text    NOT NULL PRIMARY KEY,
    external_id text    NOT NULL,
    provider    text    NOT NULL,
    api_base    text    NOT NULL,
    starts_at   text,
    ends_at     text,
    capacity    integer,
    seated      integer NOT NULL CHECK (seated IN (0, 1)),
    hosts       text    NOT NULL,
    added_hosts text    NOT NULL,
    host_emails text    NOT NULL,
    clocks      text    NOT NULL,
    CONSTRAINT sessions_identity UNIQUE (external_id, provider, api_base),
    CONSTRAINT sessions_time CHECK ((starts_at IS NULL) = (ends_at IS NULL) AND ends_at > starts_at),
    CONSTRAINT sessions_length CHECK (julianday(ends_at) - julianday(starts_at) < 31.0000001),
    CONSTRAINT sessions_format CHECK (starts_at GLOB '????-??-??T??:??:??.??????Z' AND ends_at GLOB '????-??-??T??:??:??.??????Z')
) STRICT;
CREATE INDEX sessions_start ON sessions (starts_at, id);

-- The hosts that count now, one a row: from a host to its sessions.
CREATE TABLE session_hosts (
    session_id  text    NOT NULL REFERENCES sessions (id),
    external_id text    NOT NULL,
    email       text    NOT NULL,
    PRIMARY KEY (session_id, external_id)
) STRICT;
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
    id               text    NOT NULL PRIMARY KEY,
    external_id      text    NOT NULL,
    provider         text    NOT NULL,
    api_base         text    NOT NULL,
    seat             text    NOT NULL,
    opened_at        text,
    -- Unknown of one that only a link told of.
    session_id       text    REFERENCES sessions (id),
    status           text    NOT NULL CONSTRAINT bookings_status CHECK (status IN
        ('pending', 'active', 'conflicted', 'canceled')),
    reason           text    NOT NULL,
    title            text    NOT NULL,
    location         text    NOT NULL,
    invitee_name     text    NOT NULL,
    invitee_email    text    NOT NULL,
    invitee_phone    text    NOT NULL,
    invitee_timezone text    NOT NULL,
    no_show          integer NOT NULL CHECK (no_show IN (0, 1)),
    booked_at        text,
    chain_id         text    NOT NULL,
    supersedes       text,
    superseded_by    text,
    conflicts_with   text    NOT NULL,
    overlap_accepted integer NOT NULL CHECK (overlap_accepted IN (0, 1)),
    connection_id    text    NOT NULL REFERENCES connections (id),
    last_receipt_id  text    REFERENCES webhook_receipts (id),
    clocks           text    NOT NULL,
    CONSTRAINT bookings_reason CHECK (
        (status = 'pending' AND reason IN (''))
        OR (status = 'active' AND reason IN ('', 'unmapped'))
        OR (status = 'conflicted' AND reason IN ('slot_taken', 'overlap', 'capacity_full'))
        OR (status = 'canceled' AND reason IN ('canceled', 'removed', 'declined', 'rescheduled')))
) STRICT;
CREATE UNIQUE INDEX bookings_identity ON bookings (external_id, provider, api_base, seat, coalesce(opened_at, ''));
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
    alone            integer NOT NULL CHECK (alone IN (0, 1)),
    title            text    NOT NULL,
    location         text    NOT NULL,
    invitee_name     text    NOT NULL,
    invitee_email    text    NOT NULL,
    invitee_phone    text    NOT NULL,
    invitee_timezone text    NOT NULL,
    no_show          integer NOT NULL CHECK (no_show IN (0, 1)),
    booked_at        text,
    listed           text    NOT NULL,
    clocks           text    NOT NULL,
    PRIMARY KEY (external_id, key, provider, api_base)
) STRICT;

CREATE TABLE links (
    predecessor text    NOT NULL,
    successor   text    NOT NULL,
    key         text    NOT NULL,
    provider    text    NOT NULL,
    api_base    text    NOT NULL,
    clock       text    NOT NULL,
    PRIMARY KEY (predecessor, successor, key, provider, api_base)
) STRICT;
CREATE INDEX links_successor ON links (successor);

CREATE TABLE slots (
    id          text    NOT NULL PRIMARY KEY,
    session_id  text    NOT NULL REFERENCES sessions (id),
    resource_id text    NOT NULL REFERENCES resources (id),
    starts_at   text    NOT NULL,
    ends_at     text    NOT NULL,
    status      text    NOT NULL CONSTRAINT slots_status CHECK (status IN ('active', 'tentative', 'waiting', 'released')),
    receipt_id  text    REFERENCES webhook_receipts (id),
    CONSTRAINT slots_time CHECK (ends_at > starts_at),
    CONSTRAINT slots_length CHECK (julianday(ends_at) - julianday(starts_at) < 31.0000001),
    -- Times are compared as text: another spelling would slip past the fences.
    CONSTRAINT slots_format CHECK (starts_at GLOB '????-??-??T??:??:??.??????Z' AND ends_at GLOB '????-??-??T??:??:??.??????Z')
) STRICT;
CREATE UNIQUE INDEX one_booking_per_slot ON slots (resource_id, starts_at) WHERE status = 'active';
-- What the exclusion constraint of the same name is on PostgreSQL. The same
-- instant is left to the index above; the bound is the longest booking.
-- +goose StatementBegin
CREATE TRIGGER no_overlapping_slots BEFORE INSERT ON slots
WHEN NEW.status = 'active' AND EXISTS (
    SELECT 1 FROM slots s
    WHERE s.status = 'active' AND s.id <> NEW.id AND s.resource_id = NEW.resource_id
        AND s.starts_at < NEW.ends_at AND s.ends_at > NEW.starts_at AND s.starts_at <> NEW.starts_at
        AND s.starts_at > strftime('%Y-%m-%dT%H:%M:%S', NEW.starts_at, '-31 days'))
BEGIN
    SELECT RAISE(ABORT, 'no_overlapping_slots');
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER no_overlapping_slots_update BEFORE UPDATE ON slots
WHEN NEW.status = 'active' AND EXISTS (
    SELECT 1 FROM slots s
    WHERE s.status = 'active' AND s.id <> NEW.id AND s.resource_id = NEW.resource_id
        AND s.starts_at < NEW.ends_at AND s.ends_at > NEW.starts_at AND s.starts_at <> NEW.starts_at
        AND s.starts_at > strftime('%Y-%m-%dT%H:%M:%S', NEW.starts_at, '-31 days'))
BEGIN
    SELECT RAISE(ABORT, 'no_overlapping_slots');
END;
-- +goose StatementEnd
CREATE INDEX slots_window ON slots (resource_id, starts_at, ends_at) WHERE status <> 'released';
CREATE INDEX slots_start ON slots (starts_at, id);
CREATE INDEX slots_session ON slots (session_id);

-- To move, a claim is released and made anew: its row says what was held when.
-- +goose StatementBegin
CREATE TRIGGER slots_never_move BEFORE UPDATE ON slots
WHEN NEW.session_id <> OLD.session_id OR NEW.resource_id <> OLD.resource_id
    OR NEW.starts_at <> OLD.starts_at OR NEW.ends_at <> OLD.ends_at
BEGIN
    SELECT RAISE(ABORT, 'slots_never_move');
END;
-- +goose StatementEnd

-- +goose Down
DROP TABLE slots;
DROP TABLE links;
DROP TABLE attendances;
DROP TABLE bookings;
DROP VIEW session_resources;
DROP TABLE session_hosts;
DROP TABLE sessions;
