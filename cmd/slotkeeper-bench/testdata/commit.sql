-- The bare commit: one row changed, durably.
UPDATE bare_commit SET n = n + 1 WHERE id = 1;
