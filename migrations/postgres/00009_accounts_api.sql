-- What is known of a connection's account, how its API fares, and the runs that
-- read what is booked there.

-- +goose Up
ALTER TABLE connections
    ADD COLUMN api_refresh   bytea,
    ADD COLUMN api_expires_at timestamptz,
    -- Whoever refreshes the token has it until then: a refresh token works once.
    ADD COLUMN refreshing_until timestamptz,
    ADD COLUMN owner         text NOT NULL DEFAULT '{}',
    ADD COLUMN subscription  text NOT NULL DEFAULT '' CONSTRAINT connections_subscription CHECK (subscription IN ('', 'registered', 'manual')),
    ADD COLUMN read_from     timestamptz,
    ADD COLUMN checked_at    timestamptz,
    ADD COLUMN succeeded_at  timestamptz,
    ADD COLUMN failing_since timestamptz,
    ADD COLUMN failures      integer NOT NULL DEFAULT 0,
    ADD COLUMN failure       text NOT NULL DEFAULT '',
    ADD COLUMN needs_sign_in boolean NOT NULL DEFAULT false,
    ADD COLUMN hook_lost_at  timestamptz,
    ADD COLUMN next_check_at timestamptz;

CREATE TABLE runs (
    id            uuid        PRIMARY KEY,
    connection_id uuid        NOT NULL REFERENCES connections (id),
    kind          text        NOT NULL CONSTRAINT runs_kind CHECK (kind IN ('backfill', 'reconcile')),
    cause         text        NOT NULL,
    window_from   timestamptz NOT NULL,
    window_to     timestamptz NOT NULL,
    status        text        NOT NULL CONSTRAINT runs_status CHECK (status IN ('running', 'done', 'failed')),
    -- Where the next page begins, and who reads it until when.
    cursor        text        NOT NULL DEFAULT '',
    claimed_until timestamptz,
    pages         integer     NOT NULL DEFAULT 0,
    requests      integer     NOT NULL DEFAULT 0,
    at_provider   integer     NOT NULL DEFAULT 0,
    here          integer     NOT NULL DEFAULT 0,
    differed      integer     NOT NULL DEFAULT 0,
    conflicts     integer     NOT NULL DEFAULT 0,
    refused       integer     NOT NULL DEFAULT 0,
    unreadable    integer     NOT NULL DEFAULT 0,
    failures      integer     NOT NULL DEFAULT 0,
    error         text        NOT NULL DEFAULT '',
    actor         text        NOT NULL,
    started_at    timestamptz NOT NULL,
    moved_at      timestamptz NOT NULL,
    finished_at   timestamptz
);
CREATE UNIQUE INDEX one_run_at_a_time ON runs (connection_id, kind) WHERE status = 'running';
CREATE INDEX runs_newest ON runs (connection_id, started_at DESC, id DESC);

-- What a provider has otherwise than we do, and no machine may set right.
CREATE TABLE drifts (
    connection_id uuid        NOT NULL REFERENCES connections (id),
    external_id   text        NOT NULL,
    kind          text        NOT NULL CONSTRAINT drifts_kind CHECK (kind IN ('refused', 'gone', 'unreadable')),
    detail        text        NOT NULL,
    booking_id    uuid        REFERENCES bookings (id),
    found_at      timestamptz NOT NULL,
    seen_at       timestamptz NOT NULL,
    PRIMARY KEY (external_id, connection_id)
);
CREATE INDEX drifts_connection ON drifts (connection_id, found_at);

-- +goose Down
DROP TABLE drifts;
DROP TABLE runs;
ALTER TABLE connections DROP COLUMN next_check_at, DROP COLUMN hook_lost_at, DROP COLUMN needs_sign_in, DROP COLUMN failure, DROP COLUMN failures,
    DROP COLUMN failing_since, DROP COLUMN succeeded_at, DROP COLUMN checked_at, DROP COLUMN read_from, DROP COLUMN subscription, DROP COLUMN owner,
    DROP COLUMN refreshing_until, DROP COLUMN api_expires_at, DROP COLUMN api_refresh;
