-- What is removed when its time is over, who was erased, and the change of the key.

-- +goose Up
-- A run of retention tells what it removed, of each kind; emptied are bodies.
-- What the run is for. A body may be sealed anew only by rekey, which cannot
-- change its SHA-256.
ALTER TABLE retention_runs ADD COLUMN kind text NOT NULL DEFAULT 'retention' CONSTRAINT retention_runs_kind CHECK (kind IN ('retention', 'erase', 'rekey'));
ALTER TABLE retention_runs ADD COLUMN snapshots integer NOT NULL DEFAULT 0;
ALTER TABLE retention_runs ADD COLUMN deliveries integer NOT NULL DEFAULT 0;
ALTER TABLE retention_runs ADD COLUMN sessions integer NOT NULL DEFAULT 0;
ALTER TABLE retention_runs ADD COLUMN links integer NOT NULL DEFAULT 0;
ALTER TABLE retention_runs ADD COLUMN reads integer NOT NULL DEFAULT 0;
-- Up to here no receipt is left with a body that could be emptied.
ALTER TABLE retention_runs ADD COLUMN reached text;
CREATE INDEX retention_runs_newest ON retention_runs (kind, started_at);

DROP TRIGGER bodies_are_kept;
-- +goose StatementBegin
CREATE TRIGGER bodies_are_kept BEFORE UPDATE OF raw_body, body_sha256 ON webhook_receipts
WHEN NEW.body_sha256 IS NOT OLD.body_sha256
    OR (NEW.raw_body IS NOT OLD.raw_body AND NOT EXISTS (SELECT 1 FROM retention_runs WHERE open IS NOT NULL
        AND (NEW.raw_body IS NULL OR (kind = 'rekey' AND OLD.raw_body IS NOT NULL))))
BEGIN
    SELECT RAISE(ABORT, 'bodies_are_kept');
END;
-- +goose StatementEnd

-- The sealed word under the next key, while rows are sealed anew: until that is
-- done neither key opens all, and nobody else may begin.
ALTER TABLE installation ADD COLUMN next_key_check blob;

-- People who were erased, by the HMAC of their e-mail or phone under the pepper:
-- what comes about them later is kept without them.
CREATE TABLE erased_people (
    key       text NOT NULL PRIMARY KEY,
    kind      text NOT NULL CONSTRAINT erased_people_kind CHECK (kind IN ('email', 'phone')),
    erased_at text NOT NULL
) STRICT;

-- Grows with each erasure. It is read with the ledger anyway, so that whoever
-- applies a delivery knows at no cost whether there are new ones.
ALTER TABLE ledger ADD COLUMN erased integer NOT NULL DEFAULT 0;

-- +goose Down
ALTER TABLE ledger DROP COLUMN erased;
DROP TABLE erased_people;
ALTER TABLE installation DROP COLUMN next_key_check;
DROP TRIGGER bodies_are_kept;
-- +goose StatementBegin
CREATE TRIGGER bodies_are_kept BEFORE UPDATE OF raw_body, body_sha256 ON webhook_receipts
WHEN NEW.body_sha256 IS NOT OLD.body_sha256
    OR (NEW.raw_body IS NOT OLD.raw_body AND (NEW.raw_body IS NOT NULL
        OR NOT EXISTS (SELECT 1 FROM retention_runs WHERE open IS NOT NULL)))
BEGIN
    SELECT RAISE(ABORT, 'bodies_are_kept');
END;
-- +goose StatementEnd
DROP INDEX retention_runs_newest;
ALTER TABLE retention_runs DROP COLUMN reached;
ALTER TABLE retention_runs DROP COLUMN reads;
ALTER TABLE retention_runs DROP COLUMN links;
ALTER TABLE retention_runs DROP COLUMN sessions;
ALTER TABLE retention_runs DROP COLUMN deliveries;
ALTER TABLE retention_runs DROP COLUMN snapshots;
ALTER TABLE retention_runs DROP COLUMN kind;
