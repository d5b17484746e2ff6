-- What somebody is to see to, and who is told of it.

-- +goose Up
CREATE TABLE alerts (
    id         uuid        NOT NULL PRIMARY KEY,
    kind       text        NOT NULL CONSTRAINT alerts_kind CHECK (kind IN
        ('connection', 'receipts', 'dead', 'open', 'conflict', 'conflicts', 'drift', 'copies')),
    -- What of its kind it is about: a connection, a booking, or ''.
    subject    text        NOT NULL,
    level      text        NOT NULL CONSTRAINT alerts_level CHECK (level IN ('notice', 'warning', 'page')),
    -- A word for the cause, and how many there are of it.
    detail     text        NOT NULL,
    count      bigint      NOT NULL,
    -- Since when it is so, and when that was found.
    since      timestamptz NOT NULL,
    opened_at  timestamptz NOT NULL,
    closed_at  timestamptz,
    acknowledged_by text,
    acknowledged_at timestamptz,
    CONSTRAINT alerts_acknowledged CHECK ((acknowledged_by IS NULL) = (acknowledged_at IS NULL))
);
-- One outage is one alert.
CREATE UNIQUE INDEX one_open_alert ON alerts (kind, subject) WHERE closed_at IS NULL;
CREATE INDEX alerts_newest ON alerts (opened_at DESC, id DESC);

CREATE TABLE alert_recipients (
    id         uuid        NOT NULL PRIMARY KEY,
    channel    text        NOT NULL CONSTRAINT alert_recipients_channel CHECK (channel IN ('mail', 'slack')),
    -- An address, or the URL of an incoming webhook, which is a secret: sealed.
    address    bytea       NOT NULL,
    -- What people see of it.
    label      text        NOT NULL,
    least      text        NOT NULL CONSTRAINT alert_recipients_least CHECK (least IN ('notice', 'warning', 'page')),
    language   text        NOT NULL,
    -- Of all resources, and of what is about none, when it is null.
    resource_id uuid       REFERENCES resources (id),
    created_by text        NOT NULL,
    created_at timestamptz NOT NULL,
    removed_at timestamptz
);
CREATE INDEX alert_recipients_resource ON alert_recipients (resource_id);

-- +goose Down
DROP TABLE alert_recipients;
DROP TABLE alerts;
