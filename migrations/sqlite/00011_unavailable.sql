-- When hosts are unavailable, as providers say: shown and warned of, claims nothing.

-- +goose Up
CREATE TABLE unavailable (
    external_id      text    NOT NULL,
    provider         text    NOT NULL,
    api_base         text    NOT NULL,
    host_external_id text    NOT NULL,
    host_email       text    NOT NULL,
    starts_at        text    NOT NULL,
    ends_at          text    NOT NULL,
    -- Longer than 48 hours: found by its end, since it may have begun long ago.
    long             integer NOT NULL CHECK (long IN (0, 1)),
    note             text    NOT NULL,
    -- The clock of who said it. Clocks' texts sort as they do, byte by byte.
    told             text    NOT NULL,
    connection_id    text    NOT NULL REFERENCES connections (id),
    -- Null of one that was read from the provider's API.
    receipt_id       text    REFERENCES webhook_receipts (id),
    seen_at          text    NOT NULL,
    PRIMARY KEY (external_id, provider, api_base),
    CONSTRAINT unavailable_time CHECK (ends_at > starts_at),
    CONSTRAINT unavailable_length CHECK (long OR julianday(ends_at) - julianday(starts_at) < 2.0000001),
    CONSTRAINT unavailable_format CHECK (starts_at GLOB '????-??-??T??:??:??.??????Z' AND ends_at GLOB '????-??-??T??:??:??.??????Z')
) STRICT;
CREATE INDEX unavailable_start ON unavailable (starts_at) WHERE NOT long;
CREATE INDEX unavailable_end ON unavailable (ends_at) WHERE long;
CREATE INDEX unavailable_connection ON unavailable (connection_id, ends_at);

-- Each with the resource that it is about now, null for none: as
-- session_resources says it of sessions.
CREATE VIEW unavailable_resources AS
SELECT u.*, CASE WHEN i.pinned THEN i.resource_id ELSE coalesce(e.resource_id, i.resource_id) END AS resource_id
FROM unavailable u
LEFT JOIN identities i ON i.external_id = u.host_external_id AND i.provider = u.provider AND i.api_base = u.api_base
LEFT JOIN identities e ON e.external_id = u.host_email AND e.provider = '' AND e.api_base = '';

-- +goose Down
DROP VIEW unavailable_resources;
DROP TABLE unavailable;
