-- What a provider's API is called with, and how a poke finds the receipt that
-- it joins.

-- +goose Up
ALTER TABLE connections
    ADD COLUMN api_user  text NOT NULL DEFAULT '',
    ADD COLUMN api_token bytea;

ALTER TABLE webhook_receipts
    ADD COLUMN poke          boolean NOT NULL DEFAULT false,
    ADD COLUMN waiting_event bytea;
CREATE UNIQUE INDEX one_open_poke ON webhook_receipts (subject, connection_id)
    WHERE poke AND status = 'pending' AND claimed_at IS NULL;

-- Those that were given up are counted and shown.
CREATE INDEX webhook_receipts_dead ON webhook_receipts (received_at) WHERE status = 'dead';

-- The clock of fetches: each gets a later ticket than all before, whatever the
-- machines' clocks say.
CREATE TABLE tickets (
    id   smallint    PRIMARY KEY CONSTRAINT tickets_single CHECK (id = 1),
    last timestamptz NOT NULL
);
INSERT INTO tickets (id, last) VALUES (1, '1970-01-01T00:00:00Z');

-- +goose Down
DROP TABLE tickets;
DROP INDEX webhook_receipts_dead;
DROP INDEX one_open_poke;
ALTER TABLE webhook_receipts DROP COLUMN waiting_event, DROP COLUMN poke;
ALTER TABLE connections DROP COLUMN api_token, DROP COLUMN api_user;
