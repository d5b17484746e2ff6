-- +goose Up
-- The one writer's lock and the head of the audit chain.
CREATE TABLE ledger (
    id   integer PRIMARY KEY CONSTRAINT ledger_single CHECK (id = 1),
    seq  integer NOT NULL,
    head blob    NOT NULL CONSTRAINT ledger_sha256 CHECK (length(head) = 32)
) STRICT;
INSERT INTO ledger (id, seq, head) VALUES (1, 0, zeroblob(32));

CREATE TABLE webhook_receipts (
    id            text    NOT NULL PRIMARY KEY,
    connection_id text    NOT NULL REFERENCES connections (id),
    event_key     text    NOT NULL,
    kind          text    NOT NULL CONSTRAINT webhook_receipts_kind CHECK (kind <> ''),
    subject       text    NOT NULL,
    status        text    NOT NULL CONSTRAINT webhook_receipts_status CHECK (status IN
        ('processed', 'unchanged', 'rejected', 'conflict', 'ignored', 'pending', 'waiting', 'failed', 'dead')),
    reason        text    NOT NULL CONSTRAINT webhook_receipts_reason CHECK (reason IN
        ('', 'canceled', 'removed', 'declined', 'rescheduled', 'slot_taken', 'overlap', 'capacity_full', 'unmapped',
         'illegal_transition', 'stale')),
    code          text    NOT NULL,
    error         text    NOT NULL,
    actor         text    NOT NULL CONSTRAINT webhook_receipts_actor CHECK (actor IN
        ('webhook', 'backfill', 'reconcile', 'replay', 'system') OR actor LIKE 'user:%' OR actor LIKE 'token:%'),
    attempts      integer NOT NULL DEFAULT 0,
    raw_body      blob,
    body_sha256   blob    NOT NULL CONSTRAINT webhook_receipts_sha256 CHECK (length(body_sha256) = 32),
    headers       text    NOT NULL,
    signature     text    NOT NULL,
    verified_by   text    CONSTRAINT webhook_receipts_verified_by CHECK (verified_by IN ('current', 'previous')),
    snapshot      blob,
    claimed_at    text,
    received_at   text    NOT NULL,
    processed_at  text,
    CONSTRAINT one_receipt_per_event UNIQUE (event_key, connection_id)
) STRICT;
CREATE INDEX webhook_receipts_subject ON webhook_receipts (subject) WHERE subject <> '';
CREATE INDEX webhook_receipts_waiting ON webhook_receipts (subject) WHERE status = 'waiting';
CREATE INDEX webhook_receipts_open ON webhook_receipts (received_at) WHERE status IN ('pending', 'failed');
CREATE INDEX webhook_receipts_newest ON webhook_receipts (received_at DESC, id DESC);

-- +goose StatementBegin
CREATE TRIGGER receipts_are_kept BEFORE DELETE ON webhook_receipts
BEGIN
    SELECT RAISE(ABORT, 'receipts_are_kept');
END;
-- +goose StatementEnd

CREATE TABLE deliveries (
    receipt_id    text    NOT NULL REFERENCES webhook_receipts (id),
    connection_id text    NOT NULL REFERENCES connections (id),
    received_at   text    NOT NULL,
    request_id    text    NOT NULL,
    signature     text    NOT NULL,
    action        text    NOT NULL CONSTRAINT deliveries_action CHECK (action IN ('first', 'copy')),
    answer        text    NOT NULL CONSTRAINT deliveries_answer CHECK (answer IN
        ('processed', 'unchanged', 'rejected', 'conflict', 'ignored', 'pending', 'waiting', 'failed', 'dead', 'duplicate'))
) STRICT;
CREATE INDEX deliveries_receipt ON deliveries (receipt_id, received_at);
CREATE INDEX deliveries_connection ON deliveries (connection_id, received_at);

-- Never has a row. A retention run that is open points into it by a deferred
-- key, so that no transaction can commit one: an open run stands only in the
-- transaction that does its work, and a crash leaves no door ajar.
CREATE TABLE open_runs_cannot_commit (
    id integer PRIMARY KEY CONSTRAINT open_runs_cannot_commit_empty CHECK (id <> id)
) STRICT;
CREATE TABLE retention_runs (
    id          text    NOT NULL PRIMARY KEY,
    open        integer CONSTRAINT retention_runs_open CHECK (open = 1)
        CONSTRAINT retention_runs_closed_at_commit REFERENCES open_runs_cannot_commit (id) DEFERRABLE INITIALLY DEFERRED,
    cutoff      text    NOT NULL,
    started_at  text    NOT NULL,
    finished_at text,
    emptied     integer NOT NULL DEFAULT 0
) STRICT;
CREATE UNIQUE INDEX retention_runs_one_open ON retention_runs (open) WHERE open IS NOT NULL;

-- A body is only ever emptied, and only while a run is open. Its SHA-256 stays.
-- +goose StatementBegin
CREATE TRIGGER bodies_are_kept BEFORE UPDATE OF raw_body, body_sha256 ON webhook_receipts
WHEN NEW.body_sha256 IS NOT OLD.body_sha256
    OR (NEW.raw_body IS NOT OLD.raw_body AND (NEW.raw_body IS NOT NULL
        OR NOT EXISTS (SELECT 1 FROM retention_runs WHERE open IS NOT NULL)))
BEGIN
    SELECT RAISE(ABORT, 'bodies_are_kept');
END;
-- +goose StatementEnd

-- +goose Down
DROP TABLE deliveries;
DROP TABLE webhook_receipts;
DROP TABLE retention_runs;
DROP TABLE open_runs_cannot_commit;
DROP TABLE ledger;
