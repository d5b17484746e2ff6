-- Other systems that are told of events, and what became of each try.

-- +goose Up
CREATE TABLE endpoints (
    id         TEXT NOT NULL PRIMARY KEY,
    name       TEXT NOT NULL,
    -- Sealed: it may hold a secret.
    url        BLOB NOT NULL,
    -- Of the kinds that it is told of, separated by commas; '' is all.
    events     TEXT NOT NULL,
    people     INTEGER NOT NULL,
    secret     BLOB NOT NULL,
    -- Signs besides while a rotation is under way.
    old_secret BLOB,
    -- The ledger's seq up to which the endpoint was told.
    told       INTEGER NOT NULL,
    failing_since TEXT,
    off        TEXT NOT NULL DEFAULT '' CONSTRAINT endpoints_off CHECK (off IN ('', 'by_hand', 'gone', 'failing')),
    off_at     TEXT,
    created_by TEXT NOT NULL,
    created_at TEXT NOT NULL,
    removed_at TEXT,
    CONSTRAINT endpoints_off_at CHECK ((off = '') = (off_at IS NULL))
) STRICT;
CREATE TABLE endpoint_resources (
    endpoint_id TEXT NOT NULL REFERENCES endpoints (id),
    resource_id TEXT NOT NULL REFERENCES resources (id),
    PRIMARY KEY (endpoint_id, resource_id)
) STRICT;
CREATE INDEX endpoint_resources_resource ON endpoint_resources (resource_id);

-- What an endpoint is told of; '' of other kinds of effect.
ALTER TABLE effects ADD COLUMN event TEXT NOT NULL DEFAULT '';
-- An endpoint's messages, newest first, and those that are due.
CREATE INDEX effects_target ON effects (target, seq);
CREATE INDEX effects_target_due ON effects (target, due_at) WHERE status IN ('pending', 'failed');

CREATE INDEX effects_messages ON effects (created_at) WHERE kind = 'webhook';

CREATE TABLE effect_attempts (
    id        TEXT NOT NULL PRIMARY KEY,
    effect_id TEXT NOT NULL REFERENCES effects (id),
    number    INTEGER NOT NULL,
    at        TEXT NOT NULL,
    took_us   INTEGER NOT NULL,
    -- The answer's status; 0 when there was none.
    status    INTEGER NOT NULL,
    -- The beginning of what a refusal said, sealed: it may repeat what it was told.
    answer    BLOB,
    cause     TEXT        NOT NULL CONSTRAINT effect_attempts_cause CHECK (cause IN
        ('', 'refused', 'redirected', 'timeout', 'no_host', 'nobody', 'certificate', 'private', 'unanswered', 'unmade')),
    error     TEXT NOT NULL,
    CONSTRAINT effect_attempts_number UNIQUE (effect_id, number)
) STRICT;
-- Messages that retention removed, with their tries.
ALTER TABLE retention_runs ADD COLUMN messages INTEGER NOT NULL DEFAULT 0;

-- +goose Down
ALTER TABLE retention_runs DROP COLUMN messages;
DROP TABLE effect_attempts;
DROP INDEX effects_messages;
DROP INDEX effects_target_due;
DROP INDEX effects_target;
DELETE FROM effects WHERE kind = 'webhook';
ALTER TABLE effects DROP COLUMN event;
DROP TABLE endpoint_resources;
DROP TABLE endpoints;
