-- Who holds a run or a replay, by what he holds. Unlogged: PostgreSQL empties it when
-- it recovers from a crash, and no standby has it. What was committed without waiting
-- for the disk may be gone then, unseen by a holder that goes on: his hold must be, too.

-- +goose Up
CREATE UNLOGGED TABLE holders (
    held   uuid NOT NULL PRIMARY KEY,
    holder uuid NOT NULL
);

-- +goose Down
DROP TABLE holders;
