-- How each user likes the pages, how much of the bookings a role or a user may
-- see, and where people are signed in.

-- +goose Up
ALTER TABLE users ADD COLUMN first_weekday smallint NOT NULL DEFAULT 1 CONSTRAINT users_first_weekday CHECK (first_weekday IN (0, 1, 6));
ALTER TABLE users ADD COLUMN shortcuts_off boolean NOT NULL DEFAULT false;
ALTER TABLE users ADD COLUMN sound boolean NOT NULL DEFAULT false;
ALTER TABLE users ADD COLUMN appearance text NOT NULL DEFAULT '' CONSTRAINT users_appearance CHECK (appearance IN ('', 'light', 'dark'));
-- A viewer that is limited sees the resources of user_resources, and without any
-- nothing: that a resource goes away must not open the others.
ALTER TABLE users ADD COLUMN limited boolean NOT NULL DEFAULT false;
-- Sessions that began before are over, whatever web_sessions says.
ALTER TABLE users ADD COLUMN signed_out_at timestamptz;

CREATE TABLE user_resources (
    user_id     uuid NOT NULL REFERENCES users (id),
    resource_id uuid NOT NULL REFERENCES resources (id),
    PRIMARY KEY (user_id, resource_id)
);
CREATE INDEX user_resources_resource ON user_resources (resource_id);

-- What people of a role do not see of invitees; without a row they see all.
CREATE TABLE role_privacy (
    role        text    NOT NULL PRIMARY KEY CONSTRAINT role_privacy_role CHECK (role IN ('viewer', 'operator')),
    hide_names  boolean NOT NULL,
    hide_phones boolean NOT NULL
);

-- Who made it; '' of those that are older than this column.
ALTER TABLE api_tokens ADD COLUMN created_by text NOT NULL DEFAULT '';

ALTER TABLE web_sessions ADD COLUMN user_id uuid REFERENCES users (id);
ALTER TABLE web_sessions ADD COLUMN agent text NOT NULL DEFAULT '';
ALTER TABLE web_sessions ADD COLUMN remote text NOT NULL DEFAULT '';
ALTER TABLE web_sessions ADD COLUMN began_at timestamptz;
ALTER TABLE web_sessions ADD COLUMN seen_at timestamptz;
CREATE INDEX web_sessions_user ON web_sessions (user_id);

-- +goose Down
DROP INDEX web_sessions_user;
ALTER TABLE web_sessions DROP COLUMN seen_at;
ALTER TABLE web_sessions DROP COLUMN began_at;
ALTER TABLE web_sessions DROP COLUMN remote;
ALTER TABLE web_sessions DROP COLUMN agent;
ALTER TABLE web_sessions DROP COLUMN user_id;
ALTER TABLE api_tokens DROP COLUMN created_by;
DROP TABLE role_privacy;
DROP TABLE user_resources;
ALTER TABLE users DROP COLUMN signed_out_at;
ALTER TABLE users DROP COLUMN limited;
ALTER TABLE users DROP COLUMN appearance;
ALTER TABLE users DROP COLUMN sound;
ALTER TABLE users DROP COLUMN shortcuts_off;
ALTER TABLE users DROP COLUMN first_weekday;
