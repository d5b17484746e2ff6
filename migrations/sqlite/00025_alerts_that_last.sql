-- Alerts outlast what comes and goes, recipients are told of several resources, posts
-- that nobody proved are counted by connection, and what is over is removed in time.
-- SQLite changes no CHECK: the table of alerts is made anew.

-- +goose Up
CREATE TABLE alerts_next (
    id         TEXT    NOT NULL PRIMARY KEY,
    kind       TEXT    NOT NULL CONSTRAINT alerts_kind CHECK (kind IN
        ('connection', 'receipts', 'dead', 'open', 'conflict', 'conflicts', 'drift', 'copies', 'unproven', 'endpoint')),
    -- What of its kind it is about: a connection, a booking, or ''.
    subject    TEXT    NOT NULL,
    level      TEXT    NOT NULL CONSTRAINT alerts_level CHECK (level IN ('notice', 'warning', 'page')),
    -- A word for the cause, and how many there are of it.
    detail     TEXT    NOT NULL,
    count      INTEGER NOT NULL,
    -- Since when it is so, and when that was found.
    since      TEXT    NOT NULL,
    opened_at  TEXT    NOT NULL,
    -- Since when nothing is wrong any more: it is over once that lasts.
    gone_at    TEXT,
    closed_at  TEXT,
    -- How often it began again after it was over.
    returns    INTEGER NOT NULL DEFAULT 0,
    acknowledged_by TEXT,
    acknowledged_at TEXT,
    CONSTRAINT alerts_acknowledged CHECK ((acknowledged_by IS NULL) = (acknowledged_at IS NULL)),
    CONSTRAINT alerts_gone CHECK (closed_at IS NULL OR gone_at IS NOT NULL)
) STRICT;
INSERT INTO alerts_next (id, kind, subject, level, detail, count, since, opened_at, gone_at, closed_at, acknowledged_by, acknowledged_at)
    SELECT id, kind, subject, level, detail, count, since, opened_at, closed_at, closed_at, acknowledged_by, acknowledged_at FROM alerts;
DROP TABLE alerts;
ALTER TABLE alerts_next RENAME TO alerts;
-- One outage is one alert.
CREATE UNIQUE INDEX one_open_alert ON alerts (kind, subject) WHERE closed_at IS NULL;
CREATE INDEX alerts_newest ON alerts (opened_at DESC, id DESC);
CREATE INDEX alerts_over ON alerts (closed_at) WHERE closed_at IS NOT NULL;

-- Whoever is told of no resource in particular is told of everything.
CREATE TABLE alert_recipient_resources (
    recipient_id TEXT NOT NULL REFERENCES alert_recipients (id),
    resource_id  TEXT NOT NULL REFERENCES resources (id),
    PRIMARY KEY (recipient_id, resource_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX alert_recipient_resources_resource ON alert_recipient_resources (resource_id);
INSERT INTO alert_recipient_resources (recipient_id, resource_id) SELECT id, resource_id FROM alert_recipients WHERE resource_id IS NOT NULL;
DROP INDEX alert_recipients_resource;
ALTER TABLE alert_recipients DROP COLUMN resource_id;

-- Posts to a connection that were not proven, by parts of an hour. Each process adds
-- what it counted, some times a minute at most, and removes what is old.
CREATE TABLE unproven_posts (
    connection_id TEXT    NOT NULL,
    part          TEXT    NOT NULL,
    posts         INTEGER NOT NULL CONSTRAINT unproven_posts_some CHECK (posts > 0),
    PRIMARY KEY (connection_id, part)
) STRICT, WITHOUT ROWID;
CREATE INDEX unproven_posts_part ON unproven_posts (part);

ALTER TABLE retention_runs ADD COLUMN alerts  INTEGER NOT NULL DEFAULT 0;
ALTER TABLE retention_runs ADD COLUMN replays INTEGER NOT NULL DEFAULT 0;
CREATE INDEX replays_over ON replays (finished_at) WHERE finished_at IS NOT NULL;

-- +goose Down
DROP INDEX replays_over;
ALTER TABLE retention_runs DROP COLUMN replays;
ALTER TABLE retention_runs DROP COLUMN alerts;
DROP TABLE unproven_posts;

-- Of several resources one is left.
ALTER TABLE alert_recipients ADD COLUMN resource_id TEXT REFERENCES resources (id);
UPDATE alert_recipients SET resource_id = (SELECT min(r.resource_id) FROM alert_recipient_resources r WHERE r.recipient_id = alert_recipients.id);
CREATE INDEX alert_recipients_resource ON alert_recipients (resource_id);
DROP TABLE alert_recipient_resources;

CREATE TABLE alerts_before (
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
INSERT INTO alerts_before (id, kind, subject, level, detail, count, since, opened_at, closed_at, acknowledged_by, acknowledged_at)
    SELECT id, kind, subject, level, detail, count, since, opened_at, closed_at, acknowledged_by, acknowledged_at FROM alerts
    WHERE kind IN ('connection', 'receipts', 'dead', 'open', 'conflict', 'conflicts', 'drift', 'copies');
DROP TABLE alerts;
ALTER TABLE alerts_before RENAME TO alerts;
CREATE UNIQUE INDEX one_open_alert ON alerts (kind, subject) WHERE closed_at IS NULL;
CREATE INDEX alerts_newest ON alerts (opened_at DESC, id DESC);
