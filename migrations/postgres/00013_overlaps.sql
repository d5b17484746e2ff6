-- Overlaps that people or rules accept.

-- +goose Up
-- The rule that overlaps here between bookings of one provider are accepted.
ALTER TABLE resources ADD COLUMN accept_within_provider boolean NOT NULL DEFAULT false;
CREATE INDEX bookings_accepted ON bookings (session_id) WHERE status = 'conflicted' AND overlap_accepted;
-- Why somebody accepted one: the newest entry about a booking.
CREATE INDEX admin_log_accepted ON admin_log (subject, seq) WHERE action = 'booking.overlap_accepted';

-- +goose Down
DROP INDEX admin_log_accepted;
DROP INDEX bookings_accepted;
ALTER TABLE resources DROP COLUMN accept_within_provider;
