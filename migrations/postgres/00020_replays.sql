-- Jobs that take receipts through today's code once more, and their reports.

-- +goose Up
-- The ticket of the fetch that the snapshot is from: the clock of what it says.
-- Of older ones the time at which the fetch began, which is no later: what they say
-- never counts as newer than it was.
ALTER TABLE webhook_receipts ADD COLUMN snapshot_at timestamptz;
UPDATE webhook_receipts SET snapshot_at = claimed_at WHERE snapshot IS NOT NULL;

CREATE TABLE replays (
    id            uuid        PRIMARY KEY,
    filter        text        NOT NULL,
    dry_run       boolean     NOT NULL,
    refetch       boolean     NOT NULL,
    status        text        NOT NULL CONSTRAINT replays_status CHECK (status IN ('running', 'done', 'failed', 'stopped')),
    -- Behind which receipt it goes on, and who works on it until when.
    at_received   timestamptz,
    at_id         uuid,
    claimed_by    uuid,
    claimed_until timestamptz,
    total         integer,
    looked        integer     NOT NULL DEFAULT 0,
    changed       integer     NOT NULL DEFAULT 0,
    unchanged     integer     NOT NULL DEFAULT 0,
    still_failed  integer     NOT NULL DEFAULT 0,
    open          integer     NOT NULL DEFAULT 0,
    asked         integer     NOT NULL DEFAULT 0,
    need_refetch  integer     NOT NULL DEFAULT 0,
    gone          integer     NOT NULL DEFAULT 0,
    transitions   integer     NOT NULL DEFAULT 0,
    failures      integer     NOT NULL DEFAULT 0,
    error         text        NOT NULL DEFAULT '',
    actor         text        NOT NULL CONSTRAINT replays_actor CHECK (actor = 'system' OR actor LIKE 'user:%' OR actor LIKE 'token:%'),
    started_at    timestamptz NOT NULL,
    moved_at      timestamptz NOT NULL,
    finished_at   timestamptz,
    CONSTRAINT replays_sum CHECK (looked = changed + unchanged + still_failed + open + asked + need_refetch + gone)
);
CREATE INDEX replays_newest ON replays (started_at DESC, id DESC);
CREATE INDEX replays_running ON replays (started_at) WHERE status = 'running';

-- What was changed, or would be; the first few hundred of each.
CREATE TABLE replay_changes (
    replay_id     uuid        NOT NULL REFERENCES replays (id),
    receipt_id    uuid        NOT NULL REFERENCES webhook_receipts (id),
    connection_id uuid        NOT NULL REFERENCES connections (id),
    kind          text        NOT NULL,
    received_at   timestamptz NOT NULL,
    before        text        NOT NULL,
    after         text        NOT NULL,
    verdict       text        NOT NULL,
    transitions   text        NOT NULL,
    PRIMARY KEY (replay_id, receipt_id)
);

-- +goose Down
DROP TABLE replay_changes;
DROP TABLE replays;
ALTER TABLE webhook_receipts DROP COLUMN snapshot_at;
