-- +goose Up
CREATE TABLE connections (
    id              uuid        PRIMARY KEY,
    provider        text        NOT NULL,
    api_base        text        NOT NULL,
    name            text        NOT NULL,
    secret_current  bytea       NOT NULL,
    secret_previous bytea,
    created_at      timestamptz NOT NULL,
    disconnected_at timestamptz
);

CREATE TABLE resources (
    id          uuid PRIMARY KEY,
    name        text NOT NULL,
    timezone    text NOT NULL DEFAULT '',
    merged_into uuid REFERENCES resources (id)
);

-- An identity by e-mail has no provider: the same e-mail is the same resource
-- everywhere. One that nobody mapped has no resource yet.
CREATE TABLE identities (
    external_id text    NOT NULL,
    provider    text    NOT NULL,
    api_base    text    NOT NULL,
    resource_id uuid    REFERENCES resources (id),
    email       text    NOT NULL,
    pinned      boolean NOT NULL,
    PRIMARY KEY (external_id, provider, api_base)
);
CREATE INDEX identities_resource ON identities (resource_id);

-- +goose Down
DROP TABLE identities;
DROP TABLE resources;
DROP TABLE connections;
