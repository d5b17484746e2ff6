-- Other systems that are told of events, and what became of each try.

-- +goose Up
CREATE TABLE endpoints (
    id         uuid        NOT NULL PRIMARY KEY,
    name       text        NOT NULL,
    -- Sealed: it may hold a secret.
    url        bytea       NOT NULL,
    -- Of the kinds that it is told of, separated by commas; '' is all.
    events     text        NOT NULL,
    people     boolean     NOT NULL,
    secret     bytea       NOT NULL,
    -- Signs besides while a rotation is under way.
    old_secret bytea,
    -- The ledger's seq up to which the endpoint was told.
    told       bigint      NOT NULL,
    failing_since timestamptz,
    off        text        NOT NULL DEFAULT '' CONSTRAINT endpoints_off CHECK (off IN ('', 'by_hand', 'gone', 'failing')),
    off_at     timestamptz,
    created_by text        NOT NULL,
    created_at timestamptz NOT NULL,
    removed_at timestamptz,
    CONSTRAINT endpoints_off_at CHECK ((off = '') = (off_at IS NULL))
);
CREATE TABLE endpoint_resources (
    endpoint_id uuid NOT NULL REFERENCES endpoints (id),
    resource_id uuid NOT NULL REFERENCES resources (id),
    PRIMARY KEY (endpoint_id, resource_id)
);
CREATE INDEX endpoint_resources_resource ON endpoint_resources (resource_id);

-- What an endpoint is told of; '' of other kinds of effect.
ALTER TABLE effects ADD COLUMN event text NOT NULL DEFAULT '';
-- An endpoint's messages, newest first, and those that are due.
CREATE INDEX effects_target ON effects (target, seq);
CREATE INDEX effects_target_due ON effects (target, due_at) WHERE status IN ('pending', 'failed');

CREATE INDEX effects_messages ON effects (created_at) WHERE kind = 'webhook';

CREATE TABLE effect_attempts (
    id        uuid        NOT NULL PRIMARY KEY,
    effect_id uuid        NOT NULL REFERENCES effects (id),
    number    integer     NOT NULL,
    at        timestamptz NOT NULL,
    took_us   bigint      NOT NULL,
    -- The answer's status; 0 when there was none.
    status    integer     NOT NULL,
    -- The beginning of what a refusal said, sealed: it may repeat what it was told.
    answer    bytea,
    cause     text        NOT NULL CONSTRAINT effect_attempts_cause CHECK (cause IN
        ('', 'refused', 'redirected', 'timeout', 'no_host', 'nobody', 'certificate', 'private', 'unanswered', 'unmade')),
    error     text        NOT NULL,
    CONSTRAINT effect_attempts_number UNIQUE (effect_id, number)
);
-- Messages that retention removed, with their tries.
ALTER TABLE retention_runs ADD COLUMN messages bigint NOT NULL DEFAULT 0;

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
