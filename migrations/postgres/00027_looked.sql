-- When somebody last looked after the accounts, and when somebody did again after
-- nobody had: what their providers sent meanwhile may be lost.

-- +goose Up
ALTER TABLE heartbeat
    ADD COLUMN looked_at timestamptz,
    ADD COLUMN back_at   timestamptz;

-- +goose Down
ALTER TABLE heartbeat DROP COLUMN back_at, DROP COLUMN looked_at;
