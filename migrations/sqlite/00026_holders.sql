-- Who holds a run or a replay, by what he holds. On PostgreSQL a crash empties the
-- table, and ends all holds; here the holder is on the machine that crashes.

-- +goose Up
CREATE TABLE holders (
    held   TEXT NOT NULL PRIMARY KEY,
    holder TEXT NOT NULL
);

-- +goose Down
DROP TABLE holders;
