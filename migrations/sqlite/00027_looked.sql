-- When somebody last looked after the accounts, and when somebody did again after
-- nobody had: what their providers sent meanwhile may be lost.

-- +goose Up
ALTER TABLE heartbeat ADD COLUMN looked_at TEXT;
ALTER TABLE heartbeat ADD COLUMN back_at   TEXT;

-- +goose Down
ALTER TABLE heartbeat DROP COLUMN back_at;
ALTER TABLE heartbeat DROP COLUMN looked_at;
