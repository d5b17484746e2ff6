-- Alerts outlast what comes and goes, recipients are told of several resources, posts
-- that nobody proved are counted by connection, and what is over is removed in time.

-- +goose Up
ALTER TABLE alerts DROP CONSTRAINT alerts_kind;
ALTER TABLE alerts
    ADD CONSTRAINT alerts_kind CHECK (kind IN
        ('connection', 'receipts', 'dead', 'open', 'conflict', 'conflicts', 'drift', 'copies', 'unproven', 'endpoint')),
    -- Since when nothing is wrong any more: it is over once that lasts.
    ADD COLUMN gone_at timestamptz,
    -- How often it began again after it was over.
    ADD COLUMN returns integer NOT NULL DEFAULT 0;
UPDATE alerts SET gone_at = closed_at WHERE closed_at IS NOT NULL;
ALTER TABLE alerts ADD CONSTRAINT alerts_gone CHECK (closed_at IS NULL OR gone_at IS NOT NULL);
CREATE INDEX alerts_over ON alerts (closed_at) WHERE closed_at IS NOT NULL;

-- Whoever is told of no resource in particular is told of everything.
CREATE TABLE alert_recipient_resources (
    recipient_id uuid NOT NULL REFERENCES alert_recipients (id),
    resource_id  uuid NOT NULL REFERENCES resources (id),
    PRIMARY KEY (recipient_id, resource_id)
);
CREATE INDEX alert_recipient_resources_resource ON alert_recipient_resources (resource_id);
INSERT INTO alert_recipient_resources (recipient_id, resource_id) SELECT id, resource_id FROM alert_recipients WHERE resource_id IS NOT NULL;
ALTER TABLE alert_recipients DROP COLUMN resource_id;

-- Posts to a connection that were not proven, by parts of an hour. Each process adds
-- what it counted, some times a minute at most, and removes what is old.
CREATE TABLE unproven_posts (
    connection_id uuid        NOT NULL,
    part          timestamptz NOT NULL,
    posts         bigint      NOT NULL CONSTRAINT unproven_posts_some CHECK (posts > 0),
    PRIMARY KEY (connection_id, part)
);
CREATE INDEX unproven_posts_part ON unproven_posts (part);

ALTER TABLE retention_runs
    ADD COLUMN alerts  bigint NOT NULL DEFAULT 0,
    ADD COLUMN replays bigint NOT NULL DEFAULT 0;
CREATE INDEX replays_over ON replays (finished_at) WHERE finished_at IS NOT NULL;

-- +goose Down
DROP INDEX replays_over;
ALTER TABLE retention_runs DROP COLUMN replays, DROP COLUMN alerts;
DROP TABLE unproven_posts;

-- Of several resources one is left.
ALTER TABLE alert_recipients ADD COLUMN resource_id uuid REFERENCES resources (id);
UPDATE alert_recipients SET resource_id =
    (SELECT r.resource_id FROM alert_recipient_resources r WHERE r.recipient_id = alert_recipients.id ORDER BY r.resource_id LIMIT 1);
CREATE INDEX alert_recipients_resource ON alert_recipients (resource_id);
DROP TABLE alert_recipient_resources;

DROP INDEX alerts_over;
DELETE FROM alerts WHERE kind NOT IN ('connection', 'receipts', 'dead', 'open', 'conflict', 'conflicts', 'drift', 'copies');
ALTER TABLE alerts DROP CONSTRAINT alerts_gone;
ALTER TABLE alerts DROP CONSTRAINT alerts_kind;
ALTER TABLE alerts
    DROP COLUMN returns,
    DROP COLUMN gone_at,
    ADD CONSTRAINT alerts_kind CHECK (kind IN ('connection', 'receipts', 'dead', 'open', 'conflict', 'conflicts', 'drift', 'copies'));
