-- The conflicts that need a person are counted for every page.

-- +goose Up
CREATE INDEX bookings_conflicted ON bookings (session_id) WHERE status = 'conflicted' AND NOT overlap_accepted;

-- +goose Down
DROP INDEX bookings_conflicted;
