-- A cancel that was asked for can be taken back before it is carried out: by hand,
-- or because somebody accepts the overlap that it was to end.

-- +goose Up
ALTER TABLE effects DROP CONSTRAINT effects_status;
ALTER TABLE effects ADD CONSTRAINT effects_status CHECK (status IN ('pending', 'failed', 'done', 'dead', 'withdrawn'));
-- When it was done or withdrawn.
ALTER TABLE effects DROP CONSTRAINT effects_done;
ALTER TABLE effects ADD CONSTRAINT effects_done CHECK ((status IN ('done', 'withdrawn')) = (done_at IS NOT NULL));
DROP INDEX effects_undone;
CREATE INDEX effects_undone ON effects (kind, status) WHERE status NOT IN ('done', 'withdrawn');

-- +goose Down
UPDATE effects SET status = 'dead', done_at = NULL WHERE status = 'withdrawn';
DROP INDEX effects_undone;
CREATE INDEX effects_undone ON effects (kind, status) WHERE status <> 'done';
ALTER TABLE effects DROP CONSTRAINT effects_done;
ALTER TABLE effects ADD CONSTRAINT effects_done CHECK ((status = 'done') = (done_at IS NOT NULL));
ALTER TABLE effects DROP CONSTRAINT effects_status;
ALTER TABLE effects ADD CONSTRAINT effects_status CHECK (status IN ('pending', 'failed', 'done', 'dead'));
