-- Calendars that programs read by an address with a secret in it.

-- +goose Up
CREATE TABLE feeds (
    id           uuid NOT NULL PRIMARY KEY,
    name         text NOT NULL,
    level        text NOT NULL CONSTRAINT feeds_level CHECK (level IN ('busy', 'names', 'full')),
    -- '' for all of them.
    provider     text NOT NULL,
    statuses     text NOT NULL,
    hash         bytea NOT NULL CONSTRAINT feeds_sha256 CHECK (length(hash) = 32),
    -- Whose it is: it tells no more than that user may see. Null is the installation's.
    owner_id     uuid REFERENCES users (id),
    created_by   text NOT NULL,
    created_at   timestamptz NOT NULL,
    last_used_at timestamptz,
    revoked_at   timestamptz,
    CONSTRAINT feeds_hash UNIQUE (hash)
);
CREATE INDEX feeds_owner ON feeds (owner_id);

CREATE TABLE feed_resources (
    feed_id     uuid NOT NULL REFERENCES feeds (id),
    resource_id uuid NOT NULL REFERENCES resources (id),
    PRIMARY KEY (feed_id, resource_id)
);
CREATE INDEX feed_resources_resource ON feed_resources (resource_id);

-- +goose Down
DROP TABLE feed_resources;
DROP TABLE feeds;
