-- Calendars that programs read by an address with a secret in it.

-- +goose Up
CREATE TABLE feeds (
    id           text NOT NULL PRIMARY KEY,
    name         text NOT NULL,
    level        text NOT NULL CONSTRAINT feeds_level CHECK (level IN ('busy', 'names', 'full')),
    -- '' for all of them.
    provider     text NOT NULL,
    statuses     text NOT NULL,
    hash         blob NOT NULL CONSTRAINT feeds_sha256 CHECK (length(hash) = 32),
    -- Whose it is: it tells no more than that user may see. Null is the installation's.
    owner_id     text REFERENCES users (id),
    created_by   text NOT NULL,
    created_at   text NOT NULL,
    last_used_at text,
    revoked_at   text,
    CONSTRAINT feeds_hash UNIQUE (hash)
) STRICT;
CREATE INDEX feeds_owner ON feeds (owner_id);

CREATE TABLE feed_resources (
    feed_id     text NOT NULL REFERENCES feeds (id),
    resource_id text NOT NULL REFERENCES resources (id),
    PRIMARY KEY (feed_id, resource_id)
) STRICT;
CREATE INDEX feed_resources_resource ON feed_resources (resource_id);

-- +goose Down
DROP TABLE feed_resources;
DROP TABLE feeds;
