-- What the dashboard of deliveries counts. Receipts are folded into counts by
-- quarters of an hour when somebody looks, some time after they came: nothing
-- here is written where a delivery is applied.

-- +goose Up
CREATE TABLE receipt_counts (
    quarter       timestamptz NOT NULL,
    connection_id uuid        NOT NULL,
    kind          text        NOT NULL,
    -- The provider posted it; else it was read from the provider's API.
    told          boolean     NOT NULL,
    -- Of the receipts; duplicate counts copies.
    status        text        NOT NULL,
    receipts      bigint      NOT NULL CONSTRAINT receipt_counts_some CHECK (receipts > 0),
    PRIMARY KEY (connection_id, kind, told, status, quarter)
);
-- By what the counts are summed up is the key's order; this is for the bars of a chart.
CREATE INDEX receipt_counts_quarter ON receipt_counts (quarter, status, receipts);
-- Those that may still become something else.
CREATE INDEX receipt_counts_unsettled ON receipt_counts (quarter) WHERE status IN ('pending', 'failed', 'waiting', 'dead');

-- How far the counts go: the end of the last quarter that is in them.
CREATE TABLE receipts_counted (
    id    smallint    PRIMARY KEY CONSTRAINT receipts_counted_single CHECK (id = 1),
    until timestamptz
);
INSERT INTO receipts_counted (id) VALUES (1);

-- All that a dashboard asks of what is not settled: few rows pay for it.
CREATE INDEX webhook_receipts_unsettled ON webhook_receipts (received_at, status, connection_id, kind)
    WHERE status IN ('pending', 'failed', 'waiting', 'dead');

-- +goose Down
DROP INDEX webhook_receipts_unsettled;
DROP TABLE receipts_counted;
DROP TABLE receipt_counts;
