-- Whoever works on a run or changes a connection is known by an id of his own, and
-- not by the time until which he may: a renewal that was written although its
-- answer was lost is still his.

-- +goose Up
-- Somebody may have a run stopped. SQLite changes no CHECK: the table is made anew.
CREATE TABLE runs_next (
    id            TEXT    NOT NULL PRIMARY KEY,
    connection_id TEXT    NOT NULL REFERENCES connections (id),
    kind          TEXT    NOT NULL CONSTRAINT runs_kind CHECK (kind IN ('backfill', 'reconcile')),
    cause         TEXT    NOT NULL,
    window_from   TEXT    NOT NULL,
    window_to     TEXT    NOT NULL,
    status        TEXT    NOT NULL CONSTRAINT runs_status CHECK (status IN ('running', 'done', 'failed', 'stopped')),
    -- Where the next page begins, and who reads it until when.
    cursor        TEXT    NOT NULL DEFAULT '',
    claimed_by    TEXT,
    claimed_until TEXT,
    pages         INTEGER NOT NULL DEFAULT 0,
    requests      INTEGER NOT NULL DEFAULT 0,
    at_provider   INTEGER NOT NULL DEFAULT 0,
    here          INTEGER NOT NULL DEFAULT 0,
    differed      INTEGER NOT NULL DEFAULT 0,
    conflicts     INTEGER NOT NULL DEFAULT 0,
    refused       INTEGER NOT NULL DEFAULT 0,
    unreadable    INTEGER NOT NULL DEFAULT 0,
    failures      INTEGER NOT NULL DEFAULT 0,
    error         TEXT    NOT NULL DEFAULT '',
    actor         TEXT    NOT NULL,
    started_at    TEXT    NOT NULL,
    moved_at      TEXT    NOT NULL,
    finished_at   TEXT
) STRICT;
INSERT INTO runs_next (id, connection_id, kind, cause, window_from, window_to, status, cursor, claimed_until, pages, requests, at_provider, here,
        differed, conflicts, refused, unreadable, failures, error, actor, started_at, moved_at, finished_at)
    SELECT id, connection_id, kind, cause, window_from, window_to, status, cursor, claimed_until, pages, requests, at_provider, here,
        differed, conflicts, refused, unreadable, failures, error, actor, started_at, moved_at, finished_at FROM runs;
DROP TABLE runs;
ALTER TABLE runs_next RENAME TO runs;
CREATE UNIQUE INDEX one_run_at_a_time ON runs (connection_id, kind) WHERE status = 'running';
CREATE INDEX runs_newest ON runs (connection_id, started_at DESC, id DESC);

ALTER TABLE connections ADD COLUMN refreshing_by TEXT;
-- Who connects it again, ends it or gives it another secret, and until when.
ALTER TABLE connections ADD COLUMN changing_by TEXT;
ALTER TABLE connections ADD COLUMN changing_until TEXT;
-- Since when somebody connects it; null once that is done.
ALTER TABLE connections ADD COLUMN connecting_since TEXT;
-- How often its credentials were given: what is found out with those of before
-- says nothing about it any more.
ALTER TABLE connections ADD COLUMN generation INTEGER NOT NULL DEFAULT 1;
-- The owner's id at the provider; '' while nobody asked.
ALTER TABLE connections ADD COLUMN account TEXT NOT NULL DEFAULT '';
UPDATE connections SET account = coalesce(owner ->> '$.id', '');
-- Of connections that were made at once for one account, the oldest has it.
UPDATE connections AS c SET account = '' WHERE c.disconnected_at IS NULL AND EXISTS (
    SELECT 1 FROM connections o
    WHERE o.account = c.account AND o.api_base = c.api_base AND o.provider = c.provider AND o.disconnected_at IS NULL
        AND (o.created_at, o.id) < (c.created_at, c.id));
CREATE UNIQUE INDEX one_connection_per_account ON connections (account, api_base, provider) WHERE disconnected_at IS NULL AND account <> '';

-- +goose Down
DROP INDEX one_connection_per_account;
ALTER TABLE connections DROP COLUMN account;
ALTER TABLE connections DROP COLUMN generation;
ALTER TABLE connections DROP COLUMN connecting_since;
ALTER TABLE connections DROP COLUMN changing_until;
ALTER TABLE connections DROP COLUMN changing_by;
ALTER TABLE connections DROP COLUMN refreshing_by;
CREATE TABLE runs_before (
    id            TEXT        NOT NULL PRIMARY KEY,
    connection_id TEXT        NOT NULL REFERENCES connections (id),
    kind          TEXT        NOT NULL CONSTRAINT runs_kind CHECK (kind IN ('backfill', 'reconcile')),
    cause         TEXT        NOT NULL,
    window_from   TEXT NOT NULL,
    window_to     TEXT NOT NULL,
    status        TEXT        NOT NULL CONSTRAINT runs_status CHECK (status IN ('running', 'done', 'failed')),
    cursor        TEXT        NOT NULL DEFAULT '',
    claimed_until TEXT,
    pages         INTEGER     NOT NULL DEFAULT 0,
    requests      INTEGER     NOT NULL DEFAULT 0,
    at_provider   INTEGER     NOT NULL DEFAULT 0,
    here          INTEGER     NOT NULL DEFAULT 0,
    differed      INTEGER     NOT NULL DEFAULT 0,
    conflicts     INTEGER     NOT NULL DEFAULT 0,
    refused       INTEGER     NOT NULL DEFAULT 0,
    unreadable    INTEGER     NOT NULL DEFAULT 0,
    failures      INTEGER     NOT NULL DEFAULT 0,
    error         TEXT        NOT NULL DEFAULT '',
    actor         TEXT        NOT NULL,
    started_at    TEXT NOT NULL,
    moved_at      TEXT NOT NULL,
    finished_at   TEXT
) STRICT;
INSERT INTO runs_before (id, connection_id, kind, cause, window_from, window_to, status, cursor, claimed_until, pages, requests, at_provider, here,
        differed, conflicts, refused, unreadable, failures, error, actor, started_at, moved_at, finished_at)
    SELECT id, connection_id, kind, cause, window_from, window_to, CASE status WHEN 'stopped' THEN 'failed' ELSE status END, cursor, claimed_until,
        pages, requests, at_provider, here, differed, conflicts, refused, unreadable, failures, error, actor, started_at, moved_at, finished_at FROM runs;
DROP TABLE runs;
ALTER TABLE runs_before RENAME TO runs;
CREATE UNIQUE INDEX one_run_at_a_time ON runs (connection_id, kind) WHERE status = 'running';
CREATE INDEX runs_newest ON runs (connection_id, started_at DESC, id DESC);
