-- +goose Up
CREATE TABLE connections (
    id              text    NOT NULL PRIMARY KEY,
    provider        text    NOT NULL,
    api_base        text    NOT NULL,
    name            text    NOT NULL,
    secret_current  blob    NOT NULL,
    secret_previous blob,
    created_at      text    NOT NULL,
    disconnected_at text
) STRICT;

CREATE TABLE resources (
    id          text    NOT NULL PRIMARY KEY,
    name        text    NOT NULL,
    timezone    text    NOT NULL DEFAULT '',
    merged_into text    REFERENCES resources (id)
) STRICT;

-- An identity by e-mail has no provider: the same e-mail is the same resource
-- everywhere. One that nobody mapped has no resource yet.
CREATE TABLE identities (
    external_id text    NOT NULL,
    provider    text    NOT NULL,
    api_base    text    NOT NULL,
    resource_id text    REFERENCES resources (id),
    email       text    NOT NULL,
    pinned      integer NOT NULL CHECK (pinned IN (0, 1)),
    PRIMARY KEY (external_id, provider, api_base)
) STRICT;
CREATE INDEX identities_resource ON identities (resource_id);

-- +goose Down
DROP TABLE identities;
DROP TABLE resources;
DROP TABLE connections;
