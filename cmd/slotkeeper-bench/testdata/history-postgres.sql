-- A past: bookings as the server would have stored them, with their receipts,
-- deliveries, sessions, slots and transitions. Of every :cancel_every bookings
-- one is canceled, right after it was made. Each person has ten half hours a
-- day, five days a week, from the Monday :first on.
--
-- From :began on one was received every :gap seconds. Where :varied is 1 some of
-- the events were refused or ended conflicted, some came twice, and some are of the
-- connection :second.
--
--     psql -v connection=<id> -v second=<id> -v people=40 -v bookings=200000 -v cancel_every=10 -v first=2025-02-03 \
--         -v began=2025-01-02T09:00:00Z -v gap=30 -v varied=0 -f history-postgres.sql
--
-- Indexes and fences are taken away and made anew at the end, over all rows at
-- once, which is faster than row by row. References hold by construction.
SET session_replication_role = replica;
SET synchronous_commit = off;
SET work_mem = '256MB';
SET maintenance_work_mem = '512MB';
SET timezone = 'UTC';

CREATE TEMP TABLE taken AS
SELECT i.indrelid::regclass::text AS of, i.indexrelid::regclass::text AS name, c.conname,
    coalesce('ALTER TABLE ' || i.indrelid::regclass || ' ADD CONSTRAINT ' || c.conname || ' ' || pg_get_constraintdef(c.oid), pg_get_indexdef(i.indexrelid)) AS again
FROM pg_index i LEFT JOIN pg_constraint c ON c.conindid = i.indexrelid AND c.contype IN ('u', 'x')
WHERE NOT i.indisprimary AND i.indrelid::regclass::text IN
    ('webhook_receipts', 'deliveries', 'sessions', 'session_hosts', 'bookings', 'slots', 'transitions');
DO $$
DECLARE t record;
BEGIN
    FOR t IN SELECT * FROM taken LOOP
        IF t.conname IS NULL THEN
            EXECUTE 'DROP INDEX ' || t.name;
        ELSE
            EXECUTE 'ALTER TABLE ' || t.of || ' DROP CONSTRAINT ' || t.conname;
        END IF;
    END LOOP;
END
$$;

CREATE TEMP TABLE history AS
SELECT k, k + (k - 1) / :cancel_every AS created, CASE WHEN k % :cancel_every = 0 THEN k + k / :cancel_every END AS canceled,
    'person' || ((k - 1) % :people) || '@harbourclinic.example' AS person,
    md5('booking' || k)::uuid AS booking, md5('session' || k)::uuid AS session,
    'invitee.created|h-' || k || '|2025-01-02T09:00:00.000000Z|ade21b730982d41d761d694895a3ce97' AS create_key,
    'invitee.canceled|h-' || k || '|2025-01-02T10:00:00.000000Z|42f1974ea39b37962195e9590526ef61' AS cancel_key,
    timestamptz :'first' + (k - 1) / :people / 50 * interval '7 days'
        + (k - 1) / :people % 50 / 10 * interval '1 day' + (8 + (k - 1) / :people % 10) * interval '1 hour' AS starts
FROM generate_series(1::bigint, :bookings) k;
ANALYZE history;

INSERT INTO resources (id, name) SELECT md5('resource' || r)::uuid, 'person' || r || '@harbourclinic.example' FROM generate_series(0, :people - 1) r;
INSERT INTO identities (external_id, provider, api_base, resource_id, email, pinned)
SELECT name, '', '', id, name, false FROM resources;

INSERT INTO webhook_receipts (id, connection_id, event_key, kind, subject, status, reason, code, error, actor, raw_body, body_sha256, headers, signature,
    verified_by, received_at, processed_at)
SELECT lpad(to_hex(seq), 32, '0')::uuid, :'connection', key, kind, 'generic|' || :'connection' || '|h-' || k, 'processed', reason, '', '', 'webhook',
    decode(repeat('5a', size), 'hex'), sha256(convert_to(key, 'UTF8')),
    '{"Content-Type":"application/json","User-Agent":"curl/7.88.1","X-Event-Id":"1"}', repeat('d19e4cccd55020a0', 4), 'current', at, at
FROM history, LATERAL (VALUES (created, create_key, 'invitee.created', '', 380), (canceled, cancel_key, 'invitee.canceled', 'canceled', 120)) e (seq, key, kind, reason, size),
    LATERAL (SELECT timestamptz :'began' + seq * :gap * interval '1 second' AS at) t
WHERE seq IS NOT NULL;

INSERT INTO deliveries (receipt_id, connection_id, received_at, request_id, signature, action, answer)
SELECT id, connection_id, received_at, id::text, signature, 'first', 'processed' FROM webhook_receipts r ORDER BY r.id;

INSERT INTO sessions (id, external_id, provider, api_base, starts_at, ends_at, capacity, seated, hosts, added_hosts, host_emails, clocks)
SELECT session, 'h-' || k, 'generic', :'connection', starts, starts + interval '30 minutes', 1, false,
    '[{"id":"' || person || '","email":"' || person || '"}]', 'null', '["' || person || '"]',
    '{"time":"' || clock || '","hosts":"' || clock || '"}'
FROM history, LATERAL (SELECT '2025-01-02T09:00:00.000000Z 02 ' || create_key AS clock) c;

INSERT INTO session_hosts (session_id, external_id, email) SELECT session, person, person FROM history;

INSERT INTO bookings (id, external_id, provider, api_base, seat, session_id, status, reason, title, location, invitee_name, invitee_email, invitee_phone,
    invitee_timezone, no_show, booked_at, chain_id, conflicts_with, overlap_accepted, connection_id, last_receipt_id, clocks)
SELECT booking, 'h-' || k, 'generic', :'connection', '', session, CASE WHEN canceled IS NULL THEN 'active' ELSE 'canceled' END,
    CASE WHEN canceled IS NULL THEN '' ELSE 'canceled' END, 'First visit', 'Room 4', 'Priya Raman', 'priya.raman@mail.example', '', 'Europe/London', false,
    '2025-01-02T09:00:00Z', booking, 'null', false, :'connection', lpad(to_hex(coalesce(canceled, created)), 32, '0')::uuid,
    '{"session":"' || clock || '","title":"' || clock || '","location":"' || clock || '","name":"' || clock || '","email":"' || clock || '","timezone":"' || clock || '"}'
FROM history, LATERAL (SELECT '2025-01-02T09:00:00.000000Z 02 ' || create_key AS clock) c;

INSERT INTO slots (id, session_id, resource_id, starts_at, ends_at, status, receipt_id)
SELECT md5('slot' || k)::uuid, session, md5('resource' || (k - 1) % :people)::uuid, starts, starts + interval '30 minutes',
    CASE WHEN canceled IS NULL THEN 'active' ELSE 'released' END, lpad(to_hex(coalesce(canceled, created)), 32, '0')::uuid
FROM history;

INSERT INTO transitions (seq, id, booking_id, receipt_id, event, "from", "to", outcome, reason, "constraint", actor, occurred_at, recorded_at, prev, hash)
SELECT seq, md5('transition' || seq)::uuid, booking, lpad(to_hex(seq), 32, '0')::uuid, event, was, is_now, 'applied', reason, '', 'webhook',
    '2025-01-02T09:00:00Z', timestamptz :'began' + seq * :gap * interval '1 second',
    sha256(convert_to((seq - 1)::text, 'UTF8')), sha256(convert_to(seq::text, 'UTF8'))
FROM history, LATERAL (VALUES (created, 'create', '', 'active', ''), (canceled, 'cancel', 'active', 'canceled', 'canceled')) e (seq, event, was, is_now, reason)
WHERE seq IS NOT NULL;

UPDATE transitions SET "from" = 'canceled', "to" = 'canceled', outcome = 'rejected', reason = 'illegal_transition' WHERE :varied = 1 AND seq % 200 = 7;
UPDATE transitions SET event = 'move', "from" = 'active', "to" = 'active', outcome = 'rejected', reason = 'stale' WHERE :varied = 1 AND seq % 400 = 9;
UPDATE transitions SET "to" = 'conflicted', reason = 'slot_taken' WHERE :varied = 1 AND seq % 50 = 3;
UPDATE transitions SET actor = 'reconcile' WHERE :varied = 1 AND seq % 100 = 11;
UPDATE transitions SET actor = 'user:' || md5('somebody')::uuid WHERE :varied = 1 AND seq % 1000 = 13;
UPDATE bookings SET provider = 'calcom', connection_id = :'second' WHERE :varied = 1 AND external_id LIKE 'h-%7';
UPDATE bookings SET invitee_name = 'Rani Wijaya', invitee_email = 'rani.wijaya@mail.example' WHERE :varied = 1 AND external_id = 'h-17';
UPDATE webhook_receipts SET connection_id = :'second', kind = 'OOO_CREATED', status = 'ignored' WHERE :varied = 1 AND extract(minute FROM received_at) BETWEEN 7 AND 9;
UPDATE webhook_receipts SET status = (ARRAY['rejected', 'conflict', 'unchanged', 'failed', 'pending', 'dead', 'waiting'])[extract(second FROM received_at)::int % 7 + 1]
    WHERE :varied = 1 AND subject LIKE '%99';
INSERT INTO deliveries (receipt_id, connection_id, received_at, request_id, signature, action, answer)
SELECT id, connection_id, received_at + interval '1 minute', id::text, signature, 'copy', 'duplicate' FROM webhook_receipts WHERE :varied = 1 AND subject LIKE '%5_';

UPDATE ledger SET seq = t.seq, head = t.hash FROM (SELECT seq, hash FROM transitions ORDER BY seq DESC LIMIT 1) t;
DROP TABLE history;
DO $$
DECLARE t record;
BEGIN
    FOR t IN SELECT * FROM taken ORDER BY name LOOP
        EXECUTE t.again;
    END LOOP;
END
$$;
RESET session_replication_role;
VACUUM ANALYZE;
CHECKPOINT;
