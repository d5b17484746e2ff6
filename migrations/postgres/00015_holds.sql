-- Whoever works on a run or changes a connection is known by an id of his own, and
-- not by the time until which he may: a renewal that was written although its
-- answer was lost is still his.

-- +goose Up
ALTER TABLE runs ADD COLUMN claimed_by uuid;
-- Somebody may have a run stopped.
ALTER TABLE runs DROP CONSTRAINT runs_status;
ALTER TABLE runs ADD CONSTRAINT runs_status CHECK (status IN ('running', 'done', 'failed', 'stopped'));

ALTER TABLE connections
    ADD COLUMN refreshing_by    uuid,
    -- Who connects it again, ends it or gives it another secret, and until when.
    ADD COLUMN changing_by      uuid,
    ADD COLUMN changing_until   timestamptz,
    -- Since when somebody connects it; null once that is done.
    ADD COLUMN connecting_since timestamptz,
    -- How often its credentials were given: what is found out with those of before
    -- says nothing about it any more.
    ADD COLUMN generation       integer NOT NULL DEFAULT 1,
    -- The owner's id at the provider; '' while nobody asked.
    ADD COLUMN account          text NOT NULL DEFAULT '';
UPDATE connections SET account = coalesce(owner::json ->> 'id', '');
-- Of connections that were made at once for one account, the oldest has it.
UPDATE connections c SET account = '' WHERE c.disconnected_at IS NULL AND EXISTS (
    SELECT 1 FROM connections o
    WHERE o.account = c.account AND o.api_base = c.api_base AND o.provider = c.provider AND o.disconnected_at IS NULL
        AND (o.created_at, o.id) < (c.created_at, c.id));
CREATE UNIQUE INDEX one_connection_per_account ON connections (account, api_base, provider) WHERE disconnected_at IS NULL AND account <> '';

-- +goose Down
DROP INDEX one_connection_per_account;
ALTER TABLE connections DROP COLUMN account, DROP COLUMN generation, DROP COLUMN connecting_since, DROP COLUMN changing_until,
    DROP COLUMN changing_by, DROP COLUMN refreshing_by;
UPDATE runs SET status = 'failed' WHERE status = 'stopped';
ALTER TABLE runs DROP CONSTRAINT runs_status;
ALTER TABLE runs ADD CONSTRAINT runs_status CHECK (status IN ('running', 'done', 'failed'));
ALTER TABLE runs DROP COLUMN claimed_by;
