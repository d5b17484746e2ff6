-- What somebody is to see to, and who is told of it.

-- +goose Up
CREATE TABLE alerts (
    id         TEXT        NOT NULL PRIMARY KEY,
    kind       TEXT        NOT NULL CONSTRAINT alerts_kind CHECK (kind IN
        ('connection', 'receipts', 'dead', 'open', 'conflict', 'conflicts', 'drift', 'copies')),
    -- What of its kind it is about: a connection, a booking, or ''.
    subject    TEXT        NOT NULL,
    level      TEXT        NOT NULL CONSTRAINT alerts_level CHECK (level IN ('notice', 'warning', 'page')),
    -- A word for the cause, and how many there are of it.
    detail     TEXT        NOT NULL,
    count      INTEGER      NOT NULL,
    -- Since when it is so, and when that was found.
    since      TEXT NOT NULL,
    opened_at  TEXT NOT NULL,
    closed_at  TEXT,
    acknowledged_by TEXT,
    acknowledged_at TEXT,
    CONSTRAINT alerts_acknowledged CHECK ((acknowledged_by IS NULL) = (acknowledged_at IS NULL))
) STRICT;
-- One outage is one alert.
CREATE UNIQUE INDEX one_open_alert ON alerts (kind, subject) WHERE closed_at IS NULL;
CREATE INDEX alerts_newest ON alerts (opened_at DESC, id DESC);

CREATE TABLE alert_recipients (
    id         TEXT        NOT NULL PRIMARY KEY,
    channel    TEXT        NOT NULL CONSTRAINT alert_recipients_channel CHECK (channel IN ('mail', 'slack')),
    -- An address, or the URL of an incoming webhook, which is a secret: sealed.
    address    BLOB       NOT NULL,
    -- What people see of it.
    label      TEXT        NOT NULL,
    least      TEXT        NOT NULL CONSTRAINT alert_recipients_least CHECK (least IN ('notice', 'warning', 'page')),
    language   TEXT        NOT NULL,
    -- Of all resources, and of what is about none, when it is null.
    resource_id TEXT       REFERENCES resources (id),
    created_by TEXT        NOT NULL,
    created_at TEXT NOT NULL,
    removed_at TEXT
) STRICT;
CREATE INDEX alert_recipients_resource ON alert_recipients (resource_id);

-- +goose Down
DROP TABLE alert_recipients;
DROP TABLE alerts;
