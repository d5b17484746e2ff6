-- What history-postgres.sql is, in SQLite's words. Ids are scattered as those
-- of the server are, since that is what an index of them costs.
CREATE TEMP TABLE history AS
WITH RECURSIVE n (k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM n WHERE k < :bookings)
SELECT k, k + (k - 1) / :cancel_every AS created, CASE WHEN k % :cancel_every = 0 THEN k + k / :cancel_every END AS canceled,
    'person' || ((k - 1) % :people) || '@harbourclinic.example' AS person,
    printf('00000000-0000-5000-8000-%012x', (k - 1) % :people) AS resource,
    printf('%08x-0001-5000-8000-%012x', k * 2654435761 & 4294967295, k) AS booking,
    printf('%08x-0002-5000-8000-%012x', k * 2654435761 & 4294967295, k) AS session,
    'invitee.created|h-' || k || '|2025-01-02T09:00:00.000000Z|ade21b730982d41d761d694895a3ce97' AS create_key,
    'invitee.canceled|h-' || k || '|2025-01-02T10:00:00.000000Z|42f1974ea39b37962195e9590526ef61' AS cancel_key,
    unixepoch(:first) + (k - 1) / :people / 50 * 604800 + (k - 1) / :people % 50 / 10 * 86400 + (8 + (k - 1) / :people % 10) * 3600 AS starts
FROM n;

INSERT INTO resources (id, name) SELECT DISTINCT resource, person FROM history;
INSERT INTO identities (external_id, provider, api_base, resource_id, email, pinned)
SELECT name, '', '', id, name, 0 FROM resources;

INSERT INTO webhook_receipts (id, connection_id, event_key, kind, subject, status, reason, code, error, actor, raw_body, body_sha256, headers, signature,
    verified_by, received_at, processed_at)
SELECT printf('00000000-0000-7000-8000-%012x', seq), :connection, key, kind, 'generic|' || :connection || '|h-' || k, 'processed', reason, '', '', 'webhook',
    randomblob(size), randomblob(32),
    '{"Content-Type":"application/json","User-Agent":"curl/7.88.1","X-Event-Id":"1"}', 'd19e4cccd55020a0d19e4cccd55020a0d19e4cccd55020a0d19e4cccd55020a0', 'current',
    strftime('%Y-%m-%dT%H:%M:%S.000000Z', :began + seq * :gap, 'unixepoch'), strftime('%Y-%m-%dT%H:%M:%S.000000Z', :began + seq * :gap, 'unixepoch')
FROM (SELECT k, created AS seq, create_key AS key, 'invitee.created' AS kind, '' AS reason, 380 AS size FROM history
    UNION ALL SELECT k, canceled, cancel_key, 'invitee.canceled', 'canceled', 120 FROM history WHERE canceled IS NOT NULL)
ORDER BY seq;

INSERT INTO deliveries (receipt_id, connection_id, received_at, request_id, signature, action, answer)
SELECT id, connection_id, received_at, id, signature, 'first', 'processed' FROM webhook_receipts;

INSERT INTO sessions (id, external_id, provider, api_base, starts_at, ends_at, capacity, seated, hosts, added_hosts, host_emails, clocks)
SELECT session, 'h-' || k, 'generic', :connection, strftime('%Y-%m-%dT%H:%M:%S.000000Z', starts, 'unixepoch'),
    strftime('%Y-%m-%dT%H:%M:%S.000000Z', starts + 1800, 'unixepoch'), 1, 0,
    '[{"id":"' || person || '","email":"' || person || '"}]', 'null', '["' || person || '"]',
    '{"time":"2025-01-02T09:00:00.000000Z 02 ' || create_key || '","hosts":"2025-01-02T09:00:00.000000Z 02 ' || create_key || '"}'
FROM history;

INSERT INTO session_hosts (session_id, external_id, email) SELECT session, person, person FROM history;

INSERT INTO bookings (id, external_id, provider, api_base, seat, session_id, status, reason, title, location, invitee_name, invitee_email, invitee_phone,
    invitee_timezone, no_show, booked_at, chain_id, conflicts_with, overlap_accepted, connection_id, last_receipt_id, clocks)
SELECT booking, 'h-' || k, 'generic', :connection, '', session, CASE WHEN canceled IS NULL THEN 'active' ELSE 'canceled' END,
    CASE WHEN canceled IS NULL THEN '' ELSE 'canceled' END, 'First visit', 'Room 4', 'Priya Raman', 'priya.raman@mail.example', '', 'Europe/London', 0,
    '2025-01-02T09:00:00.000000Z', booking, 'null', 0, :connection, printf('00000000-0000-7000-8000-%012x', coalesce(canceled, created)),
    '{"session":"' || clock || '","title":"' || clock || '","location":"' || clock || '","name":"' || clock || '","email":"' || clock || '","timezone":"' || clock || '"}'
FROM (SELECT *, '2025-01-02T09:00:00.000000Z 02 ' || create_key AS clock FROM history);

INSERT INTO slots (id, session_id, resource_id, starts_at, ends_at, status, receipt_id)
SELECT printf('%08x-0003-5000-8000-%012x', k * 2654435761 & 4294967295, k), session, resource, strftime('%Y-%m-%dT%H:%M:%S.000000Z', starts, 'unixepoch'),
    strftime('%Y-%m-%dT%H:%M:%S.000000Z', starts + 1800, 'unixepoch'),
    CASE WHEN canceled IS NULL THEN 'active' ELSE 'released' END, printf('00000000-0000-7000-8000-%012x', coalesce(canceled, created))
FROM history;

INSERT INTO transitions (seq, id, booking_id, receipt_id, event, "from", "to", outcome, reason, "constraint", actor, occurred_at, recorded_at, prev, hash)
SELECT seq, printf('%08x-0004-5000-8000-%012x', seq * 2654435761 & 4294967295, seq), booking, printf('00000000-0000-7000-8000-%012x', seq), event, was, is_now,
    'applied', reason, '', 'webhook', '2025-01-02T09:00:00.000000Z', strftime('%Y-%m-%dT%H:%M:%S.000000Z', :began + seq * :gap, 'unixepoch'),
    randomblob(32), randomblob(32)
FROM (SELECT booking, created AS seq, 'create' AS event, '' AS was, 'active' AS is_now, '' AS reason FROM history
    UNION ALL SELECT booking, canceled, 'cancel', 'active', 'canceled', 'canceled' FROM history WHERE canceled IS NOT NULL)
ORDER BY seq;

UPDATE transitions SET "from" = 'canceled', "to" = 'canceled', outcome = 'rejected', reason = 'illegal_transition' WHERE :varied = 1 AND seq % 200 = 7;
UPDATE transitions SET event = 'move', "from" = 'active', "to" = 'active', outcome = 'rejected', reason = 'stale' WHERE :varied = 1 AND seq % 400 = 9;
UPDATE transitions SET "to" = 'conflicted', reason = 'slot_taken' WHERE :varied = 1 AND seq % 50 = 3;
UPDATE transitions SET actor = 'reconcile' WHERE :varied = 1 AND seq % 100 = 11;
UPDATE transitions SET actor = 'user:01000000-0000-7000-8000-000000000001' WHERE :varied = 1 AND seq % 1000 = 13;
UPDATE bookings SET provider = 'calcom', connection_id = :second WHERE :varied = 1 AND external_id LIKE 'h-%7';
UPDATE bookings SET invitee_name = 'Rani Wijaya', invitee_email = 'rani.wijaya@mail.example' WHERE :varied = 1 AND external_id = 'h-17';
UPDATE webhook_receipts SET connection_id = :second, kind = 'OOO_CREATED', status = 'ignored' WHERE :varied = 1 AND substr(received_at, 15, 2) BETWEEN '07' AND '09';
UPDATE webhook_receipts SET status = json_extract('["rejected","conflict","unchanged","failed","pending","dead","waiting"]', '$[' || (substr(received_at, 18, 2) % 7) || ']')
    WHERE :varied = 1 AND subject LIKE '%99';
INSERT INTO deliveries (receipt_id, connection_id, received_at, request_id, signature, action, answer)
SELECT id, connection_id, strftime('%Y-%m-%dT%H:%M:%S.000000Z', received_at, '+1 minute'), id, signature, 'copy', 'duplicate' FROM webhook_receipts WHERE :varied = 1 AND subject LIKE '%5_';

UPDATE ledger SET seq = t.seq, head = t.hash FROM (SELECT seq, hash FROM transitions ORDER BY seq DESC LIMIT 1) t;
DROP TABLE history;
