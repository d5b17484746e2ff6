-- What is removed when its time is over, who was erased, and the change of the key.

-- +goose Up
-- A run of retention tells what it removed, of each kind; emptied are bodies.
ALTER TABLE retention_runs
    -- What the run is for. A body may be sealed anew only by rekey, which cannot
    -- change its SHA-256.
    ADD COLUMN kind       text   NOT NULL DEFAULT 'retention' CONSTRAINT retention_runs_kind CHECK (kind IN ('retention', 'erase', 'rekey')),
    ADD COLUMN snapshots  bigint NOT NULL DEFAULT 0,
    ADD COLUMN deliveries bigint NOT NULL DEFAULT 0,
    ADD COLUMN sessions   bigint NOT NULL DEFAULT 0,
    ADD COLUMN links      bigint NOT NULL DEFAULT 0,
    ADD COLUMN reads      bigint NOT NULL DEFAULT 0,
    -- Up to here no receipt is left with a body that could be emptied.
    ADD COLUMN reached    timestamptz;
CREATE INDEX retention_runs_newest ON retention_runs (kind, started_at);

-- +goose StatementBegin
CREATE OR REPLACE FUNCTION refuse_body_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.body_sha256 IS DISTINCT FROM OLD.body_sha256
        OR NOT EXISTS (SELECT 1 FROM retention_runs WHERE open IS NOT NULL
            AND (NEW.raw_body IS NULL OR (kind = 'rekey' AND OLD.raw_body IS NOT NULL)))
    THEN
        RAISE EXCEPTION 'bodies_are_kept: raw_body may only be emptied, while a retention run is open'
            USING ERRCODE = 'restrict_violation', CONSTRAINT = 'bodies_are_kept', TABLE = TG_TABLE_NAME;
    END IF;
    RETURN NEW;
END
$$;
-- +goose StatementEnd

-- The sealed word under the next key, while rows are sealed anew: until that is
-- done neither key opens all, and nobody else may begin.
ALTER TABLE installation ADD COLUMN next_key_check bytea;

-- People who were erased, by the HMAC of their e-mail or phone under the pepper:
-- what comes about them later is kept without them.
CREATE TABLE erased_people (
    key       text        PRIMARY KEY,
    kind      text        NOT NULL CONSTRAINT erased_people_kind CHECK (kind IN ('email', 'phone')),
    erased_at timestamptz NOT NULL
);

-- Grows with each erasure. It is read with the ledger anyway, so that whoever
-- applies a delivery knows at no cost whether there are new ones.
ALTER TABLE ledger ADD COLUMN erased bigint NOT NULL DEFAULT 0;

-- +goose Down
ALTER TABLE ledger DROP COLUMN erased;
DROP TABLE erased_people;
ALTER TABLE installation DROP COLUMN next_key_check;
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION refuse_body_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.body_sha256 IS DISTINCT FROM OLD.body_sha256
        OR NEW.raw_body IS NOT NULL
        OR NOT EXISTS (SELECT 1 FROM retention_runs WHERE open IS NOT NULL)
    THEN
        RAISE EXCEPTION 'bodies_are_kept: raw_body may only be emptied, while a retention run is open'
            USING ERRCODE = 'restrict_violation', CONSTRAINT = 'bodies_are_kept', TABLE = TG_TABLE_NAME;
    END IF;
    RETURN NEW;
END
$$;
-- +goose StatementEnd
DROP INDEX retention_runs_newest;
ALTER TABLE retention_runs DROP COLUMN reached, DROP COLUMN reads, DROP COLUMN links, DROP COLUMN sessions, DROP COLUMN deliveries,
    DROP COLUMN snapshots, DROP COLUMN kind;
