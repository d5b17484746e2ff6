-- The 40 people whose slots floor.sql books, known before it begins, and the row
-- of the bare commit.
INSERT INTO resources (id, name) SELECT md5('resource' || r)::uuid, 'person' || r || '@harbourclinic.example' FROM generate_series(0, 39) r;
INSERT INTO identities (external_id, provider, api_base, resource_id, email, pinned)
SELECT name, '', '', id, name, false FROM resources WHERE name LIKE 'person%';
CREATE TABLE bare_commit (id int PRIMARY KEY, n bigint NOT NULL);
INSERT INTO bare_commit VALUES (1, 0);
