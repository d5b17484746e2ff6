-- +goose Up
-- The one writer's lock and the head of the audit chain.
CREATE TABLE ledger (
    id   smallint PRIMARY KEY CONSTRAINT ledger_single CHECK (id = 1),
    seq  bigint   NOT NULL,
    head bytea    NOT NULL CONSTRAINT ledger_sha256 CHECK (length(head) = 32)
);
INSERT INTO ledger (id, seq, head) VALUES (1, 0, decode(repeat('00', 32), 'hex'));

CREATE TABLE webhook_receipts (
    id            uuid        PRIMARY KEY,
    connection_id uuid        NOT NULL REFERENCES connections (id),
    event_key     text        NOT NULL,
    kind          text        NOT NULL CONSTRAINT webhook_receipts_kind CHECK (kind <> ''),
    subject       text        NOT NULL,
    status        text        NOT NULL CONSTRAINT webhook_receipts_status CHECK (status IN
        ('processed', 'unchanged', 'rejected', 'conflict', 'ignored', 'pending', 'waiting', 'failed', 'dead')),
    reason        text        NOT NULL CONSTRAINT webhook_receipts_reason CHECK (reason IN
        ('', 'canceled', 'removed', 'declined', 'rescheduled', 'slot_taken', 'overlap', 'capacity_full', 'unmapped',
         'illegal_transition', 'stale')),
    code          text        NOT NULL,
    error         text        NOT NULL,
    actor         text        NOT NULL CONSTRAINT webhook_receipts_actor CHECK (actor IN
        ('webhook', 'backfill', 'reconcile', 'replay', 'system') OR actor LIKE 'user:%' OR actor LIKE 'token:%'),
    attempts      integer     NOT NULL DEFAULT 0,
    raw_body      bytea,
    body_sha256   bytea       NOT NULL CONSTRAINT webhook_receipts_sha256 CHECK (length(body_sha256) = 32),
    headers       text        NOT NULL,
    signature     text        NOT NULL,
    verified_by   text        CONSTRAINT webhook_receipts_verified_by CHECK (verified_by IN ('current', 'previous')),
    snapshot      bytea,
    claimed_at    timestamptz,
    received_at   timestamptz NOT NULL,
    processed_at  timestamptz,
    CONSTRAINT one_receipt_per_event UNIQUE (event_key, connection_id)
);
CREATE INDEX webhook_receipts_subject ON webhook_receipts (subject) WHERE subject <> '';
CREATE INDEX webhook_receipts_waiting ON webhook_receipts (subject) WHERE status = 'waiting';
CREATE INDEX webhook_receipts_open ON webhook_receipts (received_at) WHERE status IN ('pending', 'failed');
CREATE INDEX webhook_receipts_newest ON webhook_receipts (received_at DESC, id DESC);

CREATE TRIGGER receipts_are_kept BEFORE DELETE ON webhook_receipts
    FOR EACH ROW EXECUTE FUNCTION refuse_change('receipts_are_kept');
CREATE TRIGGER receipts_no_truncate BEFORE TRUNCATE ON webhook_receipts
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change('receipts_are_kept');

CREATE TABLE deliveries (
    receipt_id    uuid        NOT NULL REFERENCES webhook_receipts (id),
    connection_id uuid        NOT NULL REFERENCES connections (id),
    received_at   timestamptz NOT NULL,
    request_id    text        NOT NULL,
    signature     text        NOT NULL,
    action        text        NOT NULL CONSTRAINT deliveries_action CHECK (action IN ('first', 'copy')),
    answer        text        NOT NULL CONSTRAINT deliveries_answer CHECK (answer IN
        ('processed', 'unchanged', 'rejected', 'conflict', 'ignored', 'pending', 'waiting', 'failed', 'dead', 'duplicate'))
);
CREATE INDEX deliveries_receipt ON deliveries (receipt_id, received_at);
CREATE INDEX deliveries_connection ON deliveries (connection_id, received_at);

-- Never has a row. A retention run that is open points into it by a deferred
-- key, so that no transaction can commit one: an open run stands only in the
-- transaction that does its work, and a crash leaves no door ajar.
CREATE TABLE open_runs_cannot_commit (
    id smallint PRIMARY KEY CONSTRAINT open_runs_cannot_commit_empty CHECK (id <> id)
);
CREATE TABLE retention_runs (
    id          uuid        PRIMARY KEY,
    open        smallint    CONSTRAINT retention_runs_open CHECK (open = 1)
        CONSTRAINT retention_runs_closed_at_commit REFERENCES open_runs_cannot_commit (id) DEFERRABLE INITIALLY DEFERRED,
    cutoff      timestamptz NOT NULL,
    started_at  timestamptz NOT NULL,
    finished_at timestamptz,
    emptied     bigint      NOT NULL DEFAULT 0
);
CREATE UNIQUE INDEX retention_runs_one_open ON retention_runs (open) WHERE open IS NOT NULL;

-- A body is only ever emptied, and only while a run is open. Its SHA-256 stays.
-- +goose StatementBegin
CREATE FUNCTION refuse_body_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.body_sha256 IS DISTINCT FROM OLD.body_sha256
        OR NEW.raw_body IS NOT NULL
        OR NOT EXISTS (SELECT 1 FROM retention_runs WHERE open IS NOT NULL)
    THEN
        RAISE EXCEPTION 'bodies_are_kept: raw_body may only be emptied, while a retention run is open'
            USING ERRCODE = 'restrict_violation', CONSTRAINT = 'bodies_are_kept', TABLE = TG_TABLE_NAME;
    END IF;
    RETURN NEW;
END
$$;
-- +goose StatementEnd
CREATE TRIGGER bodies_are_kept BEFORE UPDATE ON webhook_receipts
    FOR EACH ROW WHEN (NEW.raw_body IS DISTINCT FROM OLD.raw_body OR NEW.body_sha256 IS DISTINCT FROM OLD.body_sha256)
    EXECUTE FUNCTION refuse_body_change();

-- +goose Down
DROP TABLE deliveries;
DROP TABLE webhook_receipts;
DROP FUNCTION refuse_body_change();
DROP TABLE retention_runs;
DROP TABLE open_runs_cannot_commit;
DROP TABLE ledger;
