-- What is known of a connection's account, how its API fares, and the runs that
-- read what is booked there.

-- +goose Up
ALTER TABLE connections ADD COLUMN api_refresh BLOB;
ALTER TABLE connections ADD COLUMN api_expires_at TEXT;
-- Whoever refreshes the token has it until then: a refresh token works once.
ALTER TABLE connections ADD COLUMN refreshing_until TEXT;
ALTER TABLE connections ADD COLUMN owner TEXT NOT NULL DEFAULT '{}';
ALTER TABLE connections ADD COLUMN subscription TEXT NOT NULL DEFAULT '' CONSTRAINT connections_subscription CHECK (subscription IN ('', 'registered', 'manual'));
ALTER TABLE connections ADD COLUMN read_from TEXT;
ALTER TABLE connections ADD COLUMN checked_at TEXT;
ALTER TABLE connections ADD COLUMN succeeded_at TEXT;
ALTER TABLE connections ADD COLUMN failing_since TEXT;
ALTER TABLE connections ADD COLUMN failures INTEGER NOT NULL DEFAULT 0;
ALTER TABLE connections ADD COLUMN failure TEXT NOT NULL DEFAULT '';
ALTER TABLE connections ADD COLUMN needs_sign_in INTEGER NOT NULL DEFAULT 0;
ALTER TABLE connections ADD COLUMN hook_lost_at TEXT;
ALTER TABLE connections ADD COLUMN next_check_at TEXT;

CREATE TABLE runs (
    id            TEXT        NOT NULL PRIMARY KEY,
    connection_id TEXT        NOT NULL REFERENCES connections (id),
    kind          TEXT        NOT NULL CONSTRAINT runs_kind CHECK (kind IN ('backfill', 'reconcile')),
    cause         TEXT        NOT NULL,
    window_from   TEXT NOT NULL,
    window_to     TEXT NOT NULL,
    status        TEXT        NOT NULL CONSTRAINT runs_status CHECK (status IN ('running', 'done', 'failed')),
    -- Where the next page begins, and who reads it until when.
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
CREATE UNIQUE INDEX one_run_at_a_time ON runs (connection_id, kind) WHERE status = 'running';
CREATE INDEX runs_newest ON runs (connection_id, started_at DESC, id DESC);

-- What a provider has otherwise than we do, and no machine may set right.
CREATE TABLE drifts (
    connection_id TEXT        NOT NULL REFERENCES connections (id),
    external_id   TEXT        NOT NULL,
    kind          TEXT        NOT NULL CONSTRAINT drifts_kind CHECK (kind IN ('refused', 'gone', 'unreadable')),
    detail        TEXT        NOT NULL,
    booking_id    TEXT        REFERENCES bookings (id),
    found_at      TEXT NOT NULL,
    seen_at       TEXT NOT NULL,
    PRIMARY KEY (external_id, connection_id)
) STRICT;
CREATE INDEX drifts_connection ON drifts (connection_id, found_at);

-- +goose Down
DROP TABLE drifts;
DROP TABLE runs;
ALTER TABLE connections DROP COLUMN next_check_at;
ALTER TABLE connections DROP COLUMN hook_lost_at;
ALTER TABLE connections DROP COLUMN needs_sign_in;
ALTER TABLE connections DROP COLUMN failure;
ALTER TABLE connections DROP COLUMN failures;
ALTER TABLE connections DROP COLUMN failing_since;
ALTER TABLE connections DROP COLUMN succeeded_at;
ALTER TABLE connections DROP COLUMN checked_at;
ALTER TABLE connections DROP COLUMN read_from;
ALTER TABLE connections DROP COLUMN subscription;
ALTER TABLE connections DROP COLUMN owner;
ALTER TABLE connections DROP COLUMN refreshing_until;
ALTER TABLE connections DROP COLUMN api_expires_at;
ALTER TABLE connections DROP COLUMN api_refresh;
