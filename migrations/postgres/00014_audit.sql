-- What serves the audit's filters. The list is by the time of recording, then
-- seq. Each index is one that a write pays for, so each is as small as it can be.

-- +goose Up
-- With seq, so that the list is read in its order and goes on where a page ended.
DROP INDEX transitions_recorded;
CREATE INDEX transitions_recorded ON transitions (recorded_at, seq);
-- By any reason, not only those of refusals: of all that has one, the list and
-- its count. A plain create has none and does not pay.
DROP INDEX transitions_refused;
CREATE INDEX transitions_reason ON transitions (reason, recorded_at, seq) WHERE reason <> '';
-- What the page opens on. Few rows pay.
CREATE INDEX transitions_troubled ON transitions (recorded_at, seq) WHERE outcome = 'rejected' OR "to" = 'conflicted';
-- What a person, a rule or an import did. What webhooks did is found by time, and
-- does not pay.
CREATE INDEX transitions_actor ON transitions (actor, recorded_at, seq) WHERE actor <> 'webhook';

-- The admin log is written by hand, so to say: its indexes cost nobody anything.
CREATE INDEX admin_log_at ON admin_log (at, seq);
CREATE INDEX admin_log_actor ON admin_log (actor, at, seq);
CREATE INDEX admin_log_action ON admin_log (action, at, seq);

-- +goose Down
DROP INDEX admin_log_action;
DROP INDEX admin_log_actor;
DROP INDEX admin_log_at;
DROP INDEX transitions_actor;
DROP INDEX transitions_troubled;
DROP INDEX transitions_reason;
CREATE INDEX transitions_refused ON transitions (reason, seq) WHERE outcome = 'rejected';
DROP INDEX transitions_recorded;
CREATE INDEX transitions_recorded ON transitions (recorded_at);
