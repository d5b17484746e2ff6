-- +goose Up
-- The installation itself: the pepper of e-mail keys, and a sealed word that
-- tells a wrong key from a right one before anything else is opened.
CREATE TABLE installation (
    id         integer PRIMARY KEY CONSTRAINT installation_single CHECK (id = 1),
    pepper     blob    NOT NULL,
    key_check  blob    NOT NULL,
    created_at text    NOT NULL
) STRICT;

CREATE TABLE users (
    id            text    NOT NULL PRIMARY KEY,
    name          text    NOT NULL CONSTRAINT users_name_lower CHECK (name <> '' AND name = lower(name)),
    role          text    NOT NULL CONSTRAINT users_role CHECK (role IN ('viewer', 'operator', 'administrator')),
    password_hash text,
    language      text    NOT NULL DEFAULT '',
    timezone      text    NOT NULL DEFAULT '',
    disabled_at   text,
    created_at    text    NOT NULL,
    CONSTRAINT users_name UNIQUE (name)
) STRICT;

CREATE TABLE api_tokens (
    id           text    NOT NULL PRIMARY KEY,
    name         text    NOT NULL,
    scope        text    NOT NULL CONSTRAINT api_tokens_scope CHECK (scope IN ('read', 'operate', 'admin')),
    hash         blob    NOT NULL CONSTRAINT api_tokens_sha256 CHECK (length(hash) = 32),
    created_at   text    NOT NULL,
    last_used_at text,
    revoked_at   text,
    CONSTRAINT api_tokens_hash UNIQUE (hash)
) STRICT;

CREATE TABLE signin_links (
    hash       blob    NOT NULL PRIMARY KEY CONSTRAINT signin_links_sha256 CHECK (length(hash) = 32),
    user_id    text    REFERENCES users (id),
    purpose    text    NOT NULL,
    expires_at text    NOT NULL,
    used_at    text
) STRICT;

CREATE TABLE web_sessions (
    token  text    NOT NULL PRIMARY KEY,
    data   blob    NOT NULL,
    expiry text    NOT NULL
) STRICT;
CREATE INDEX web_sessions_expiry ON web_sessions (expiry);

CREATE TABLE admin_log (
    seq     integer PRIMARY KEY AUTOINCREMENT,
    at      text    NOT NULL,
    actor   text    NOT NULL,
    action  text    NOT NULL,
    subject text    NOT NULL DEFAULT '',
    detail  text    NOT NULL DEFAULT '{}',
    remote  text    NOT NULL DEFAULT ''
) STRICT;

-- +goose StatementBegin
CREATE TRIGGER admin_log_append_only BEFORE UPDATE ON admin_log
BEGIN
    SELECT RAISE(ABORT, 'admin_log_append_only');
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER admin_log_no_delete BEFORE DELETE ON admin_log
BEGIN
    SELECT RAISE(ABORT, 'admin_log_append_only');
END;
-- +goose StatementEnd

-- What readiness writes: a row of its own, so that the question waits for nobody.
CREATE TABLE heartbeat (
    id    integer PRIMARY KEY CONSTRAINT heartbeat_single CHECK (id = 1),
    beats integer NOT NULL
) STRICT;
INSERT INTO heartbeat (id, beats) VALUES (1, 0);

-- +goose Down
DROP TABLE heartbeat;
DROP TABLE admin_log;
DROP TABLE web_sessions;
DROP TABLE signin_links;
DROP TABLE api_tokens;
DROP TABLE users;
DROP TABLE installation;
