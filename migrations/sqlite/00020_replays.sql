-- Jobs that take receipts through today's code once more, and their reports.

-- +goose Up
-- The ticket of the fetch that the snapshot is from: the clock of what it says.
-- Of older ones the time at which the fetch began, which is no later: what they say
-- never counts as newer than it was.
ALTER TABLE webhook_receipts ADD COLUMN snapshot_at TEXT;
UPDATE webhook_receipts SET snapshot_at = claimed_at WHERE snapshot IS NOT NULL;

CREATE TABLE replays (
    id            TEXT        NOT NULL PRIMARY KEY,
    filter        TEXT        NOT NULL,
    dry_run       INTEGER     NOT NULL,
    refetch       INTEGER     NOT NULL,
    status        TEXT        NOT NULL CONSTRAINT replays_status CHECK (status IN ('running', 'done', 'failed', 'stopped')),
    -- Behind which receipt it goes on, and who works on it until when.
    at_received   TEXT,
    at_id         TEXT,
    claimed_by    TEXT,
    claimed_until TEXT,
    total         INTEGER,
    looked        INTEGER     NOT NULL DEFAULT 0,
    changed       INTEGER     NOT NULL DEFAULT 0,
    unchanged     INTEGER     NOT NULL DEFAULT 0,
    still_failed  INTEGER     NOT NULL DEFAULT 0,
    open          INTEGER     NOT NULL DEFAULT 0,
    asked         INTEGER     NOT NULL DEFAULT 0,
    need_refetch  INTEGER     NOT NULL DEFAULT 0,
    gone          INTEGER     NOT NULL DEFAULT 0,
    transitions   INTEGER     NOT NULL DEFAULT 0,
    failures      INTEGER     NOT NULL DEFAULT 0,
    error         TEXT        NOT NULL DEFAULT '',
    actor         TEXT        NOT NULL CONSTRAINT replays_actor CHECK (actor = 'system' OR actor LIKE 'user:%' OR actor LIKE 'token:%'),
    started_at    TEXT NOT NULL,
    moved_at      TEXT NOT NULL,
    finished_at   TEXT,
    CONSTRAINT replays_sum CHECK (looked = changed + unchanged + still_failed + open + asked + need_refetch + gone)
) STRICT;
CREATE INDEX replays_newest ON replays (started_at DESC, id DESC);
CREATE INDEX replays_running ON replays (started_at) WHERE status = 'running';

-- What was changed, or would be; the first few hundred of each.
CREATE TABLE replay_changes (
    replay_id     TEXT        NOT NULL REFERENCES replays (id),
    receipt_id    TEXT        NOT NULL REFERENCES webhook_receipts (id),
    connection_id TEXT        NOT NULL REFERENCES connections (id),
    kind          TEXT        NOT NULL,
    received_at   TEXT NOT NULL,
    before        TEXT        NOT NULL,
    after         TEXT        NOT NULL,
    verdict       TEXT        NOT NULL,
    transitions   TEXT        NOT NULL,
    PRIMARY KEY (replay_id, receipt_id)
) STRICT;

-- +goose Down
DROP TABLE replay_changes;
DROP TABLE replays;
ALTER TABLE webhook_receipts DROP COLUMN snapshot_at;
