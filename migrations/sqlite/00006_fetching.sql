-- What a provider's API is called with, and how a poke finds the receipt that
-- it joins.

-- +goose Up
ALTER TABLE connections ADD COLUMN api_user TEXT NOT NULL DEFAULT '';
ALTER TABLE connections ADD COLUMN api_token BLOB;

ALTER TABLE webhook_receipts ADD COLUMN poke INTEGER NOT NULL DEFAULT 0;
ALTER TABLE webhook_receipts ADD COLUMN waiting_event BLOB;
CREATE UNIQUE INDEX one_open_poke ON webhook_receipts (subject, connection_id)
    WHERE poke AND status = 'pending' AND claimed_at IS NULL;

-- Those that were given up are counted and shown.
CREATE INDEX webhook_receipts_dead ON webhook_receipts (received_at) WHERE status = 'dead';

-- The clock of fetches: each gets a later ticket than all before, whatever the
-- machine's clock says.
CREATE TABLE tickets (
    id   INTEGER PRIMARY KEY CONSTRAINT tickets_single CHECK (id = 1),
    last TEXT    NOT NULL
) STRICT;
INSERT INTO tickets (id, last) VALUES (1, '1970-01-01T00:00:00.000000Z');

-- +goose Down
DROP TABLE tickets;
DROP INDEX webhook_receipts_dead;
DROP INDEX one_open_poke;
ALTER TABLE webhook_receipts DROP COLUMN waiting_event;
ALTER TABLE webhook_receipts DROP COLUMN poke;
ALTER TABLE connections DROP COLUMN api_token;
ALTER TABLE connections DROP COLUMN api_user;
