-- How each user likes the pages, how much of the bookings a role or a user may
-- see, and where people are signed in.

-- +goose Up
ALTER TABLE users ADD COLUMN first_weekday integer NOT NULL DEFAULT 1 CONSTRAINT users_first_weekday CHECK (first_weekday IN (0, 1, 6));
ALTER TABLE users ADD COLUMN shortcuts_off integer NOT NULL DEFAULT 0;
ALTER TABLE users ADD COLUMN sound integer NOT NULL DEFAULT 0;
ALTER TABLE users ADD COLUMN appearance text NOT NULL DEFAULT '' CONSTRAINT users_appearance CHECK (appearance IN ('', 'light', 'dark'));
-- A viewer that is limited sees the resources of user_resources, and without any
-- nothing: that a resource goes away must not open the others.
ALTER TABLE users ADD COLUMN limited integer NOT NULL DEFAULT 0;
-- Sessions that began before are over, whatever web_sessions says.
ALTER TABLE users ADD COLUMN signed_out_at text;

CREATE TABLE user_resources (
    user_id     text NOT NULL REFERENCES users (id),
    resource_id text NOT NULL REFERENCES resources (id),
    PRIMARY KEY (user_id, resource_id)
) STRICT;
CREATE INDEX user_resources_resource ON user_resources (resource_id);

-- What people of a role do not see of invitees; without a row they see all.
CREATE TABLE role_privacy (
    role        text    NOT NULL PRIMARY KEY CONSTRAINT role_privacy_role CHECK (role IN ('viewer', 'operator')),
    hide_names  integer NOT NULL,
    hide_phones integer NOT NULL
) STRICT;

-- Who made it; '' of those that are older than this column.
ALTER TABLE api_tokens ADD COLUMN created_by text NOT NULL DEFAULT '';

ALTER TABLE web_sessions ADD COLUMN user_id text REFERENCES users (id);
ALTER TABLE web_sessions ADD COLUMN agent text NOT NULL DEFAULT '';
ALTER TABLE web_sessions ADD COLUMN remote text NOT NULL DEFAULT '';
ALTER TABLE web_sessions ADD COLUMN began_at text;
ALTER TABLE web_sessions ADD COLUMN seen_at text;
CREATE INDEX web_sessions_user ON web_sessions (user_id);

-- +goose Down
DROP INDEX web_sessions_user;
-- SQLite drops no column that refers to another table: sessions are made anew,
-- and everybody signs in again.
DROP TABLE web_sessions;
CREATE TABLE web_sessions (
    token  text    NOT NULL PRIMARY KEY,
    data   blob    NOT NULL,
    expiry text    NOT NULL
) STRICT;
CREATE INDEX web_sessions_expiry ON web_sessions (expiry);
ALTER TABLE api_tokens DROP COLUMN created_by;
DROP TABLE role_privacy;
DROP TABLE user_resources;
ALTER TABLE users DROP COLUMN signed_out_at;
ALTER TABLE users DROP COLUMN limited;
ALTER TABLE users DROP COLUMN appearance;
ALTER TABLE users DROP COLUMN sound;
ALTER TABLE users DROP COLUMN shortcuts_off;
ALTER TABLE users DROP COLUMN first_weekday;
