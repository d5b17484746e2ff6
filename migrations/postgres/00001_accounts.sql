-- +goose Up
-- The installation itself: the pepper of e-mail keys, and a sealed word that
-- tells a wrong key from a right one before anything else is opened.
CREATE TABLE installation (
    id         smallint    PRIMARY KEY CONSTRAINT installation_single CHECK (id = 1),
    pepper     bytea       NOT NULL,
    key_check  bytea       NOT NULL,
    created_at timestamptz NOT NULL
);

CREATE TABLE users (
    id            uuid        PRIMARY KEY,
    name          text        NOT NULL CONSTRAINT users_name_lower CHECK (name <> '' AND name = lower(name)),
    role          text        NOT NULL CONSTRAINT users_role CHECK (role IN ('viewer', 'operator', 'administrator')),
    password_hash text,
    language      text        NOT NULL DEFAULT '',
    timezone      text        NOT NULL DEFAULT '',
    disabled_at   timestamptz,
    created_at    timestamptz NOT NULL,
    CONSTRAINT users_name UNIQUE (name)
);

CREATE TABLE api_tokens (
    id           uuid        PRIMARY KEY,
    name         text        NOT NULL,
    scope        text        NOT NULL CONSTRAINT api_tokens_scope CHECK (scope IN ('read', 'operate', 'admin')),
    hash         bytea       NOT NULL CONSTRAINT api_tokens_sha256 CHECK (length(hash) = 32),
    created_at   timestamptz NOT NULL,
    last_used_at timestamptz,
    revoked_at   timestamptz,
    CONSTRAINT api_tokens_hash UNIQUE (hash)
);

CREATE TABLE signin_links (
    hash       bytea       PRIMARY KEY CONSTRAINT signin_links_sha256 CHECK (length(hash) = 32),
    user_id    uuid        REFERENCES users (id),
    purpose    text        NOT NULL,
    expires_at timestamptz NOT NULL,
    used_at    timestamptz
);

CREATE TABLE web_sessions (
    token  text        PRIMARY KEY,
    data   bytea       NOT NULL,
    expiry timestamptz NOT NULL
);
CREATE INDEX web_sessions_expiry ON web_sessions (expiry);

CREATE TABLE admin_log (
    seq     bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at      timestamptz NOT NULL,
    actor   text        NOT NULL,
    action  text        NOT NULL,
    subject text        NOT NULL DEFAULT '',
    detail  text        NOT NULL DEFAULT '{}',
    remote  text        NOT NULL DEFAULT ''
);

-- Names the refusal like a constraint, so that callers can tell which it was.
-- +goose StatementBegin
CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '%: % of % is refused', TG_ARGV[0], TG_OP, TG_TABLE_NAME
        USING ERRCODE = 'restrict_violation', CONSTRAINT = TG_ARGV[0], TABLE = TG_TABLE_NAME;
END
$$;
-- +goose StatementEnd

CREATE TRIGGER admin_log_append_only BEFORE UPDATE OR DELETE ON admin_log
    FOR EACH ROW EXECUTE FUNCTION refuse_change('admin_log_append_only');
CREATE TRIGGER admin_log_no_truncate BEFORE TRUNCATE ON admin_log
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change('admin_log_append_only');

-- What readiness writes: a row of its own, so that the question waits for nobody.
CREATE TABLE heartbeat (
    id    smallint PRIMARY KEY CONSTRAINT heartbeat_single CHECK (id = 1),
    beats bigint   NOT NULL
);
INSERT INTO heartbeat (id, beats) VALUES (1, 0);

-- +goose Down
DROP TABLE heartbeat;
DROP TABLE admin_log;
DROP FUNCTION refuse_change();
DROP TABLE web_sessions;
DROP TABLE signin_links;
DROP TABLE api_tokens;
DROP TABLE users;
DROP TABLE installation;
