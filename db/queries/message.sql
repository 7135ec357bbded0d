-- name: MessageAgents :many
-- Agents by name, or all that live: whom a message is for.
SELECT a.id, a.name, l.alive::boolean AS alive, (cardinality(a.products) > 0)::boolean AS limited,
    CASE WHEN cardinality(a.products) > 0 THEN ARRAY(SELECT p.id FROM product p
        WHERE p.workspace_id = a.workspace_id AND p.name = ANY(a.products)) ELSE '{}' END::uuid[] AS products
FROM agent a
CROSS JOIN LATERAL (SELECT (a.terminated_at IS NULL OR a.ended_gracefully)
    AND a.last_heartbeat_at > clock_timestamp() - make_interval(secs => a.dead_after_seconds) AS alive) l
WHERE a.workspace_id = @workspace_id AND (a.name = ANY(@names::text[]) OR @everybody::boolean AND l.alive);

-- name: MessageFactories :many
SELECT f.id, f.name FROM factory f WHERE f.workspace_id = @workspace_id AND f.name = ANY(@names::text[]);

-- name: MessagePersons :many
-- Members by e-mail address or by id.
SELECT m.account_id AS id, a.name, a.email::text AS email FROM membership m JOIN account a ON a.id = m.account_id
WHERE m.workspace_id = @workspace_id AND m.disabled_at IS NULL
    AND (a.email::text = ANY(@emails::text[]) OR m.account_id = ANY(@ids::uuid[]));

-- name: MessageJobs :many
-- Jobs by key or id. One look for each, whatever the statistics say.
SELECT j.id, j.key, j.product_id FROM unnest(@keys::text[]) AS n(key) CROSS JOIN LATERAL (
    SELECT x.id, x.key, x.product_id FROM job x WHERE x.workspace_id = @workspace_id AND x.key = n.key OFFSET 0) j
UNION ALL
SELECT j.id, j.key, j.product_id FROM unnest(@ids::uuid[]) AS n(id) CROSS JOIN LATERAL (
    SELECT x.id, x.key, x.product_id FROM job x WHERE x.workspace_id = @workspace_id AND x.id = n.id OFFSET 0) j;

-- name: MessageThreadBegins :many
-- The products that the first messages of threads are about, where they are about one.
SELECT t.name::text AS name, f.product_id::uuid AS product_id FROM unnest(@names::text[]) AS t(name)
CROSS JOIN LATERAL (SELECT m.product_id FROM message m
    WHERE m.workspace_id = @workspace_id AND m.correlation_id = t.name ORDER BY m.correlation_id, m.seq LIMIT 1) f
WHERE f.product_id IS NOT NULL;

-- name: MessageReaders :many
-- What agents may read: the messages of their roles, and those about these products. ended
-- is whom a person ended at once.
SELECT a.id, a.factory_id, a.roles, a.boot_id, a.generation, (a.terminated_at IS NOT NULL AND NOT a.ended_gracefully)::boolean AS ended,
    (cardinality(a.products) > 0)::boolean AS limited,
    CASE WHEN cardinality(a.products) > 0 THEN ARRAY(SELECT p.id FROM product p
        WHERE p.workspace_id = a.workspace_id AND p.name = ANY(a.products)) ELSE '{}' END::uuid[] AS products
FROM agent a WHERE a.workspace_id = @workspace_id AND a.id = ANY(@ids::uuid[]);

-- name: InboxesCrowded :many
-- Those of the inboxes that hold more than so many messages: only there may the share of
-- somebody be used up.
SELECT i.inbox::text AS inbox FROM unnest(@inboxes::text[]) AS i(inbox)
WHERE EXISTS (SELECT FROM message_delivery d WHERE d.workspace_id = @workspace_id AND d.inbox = i.inbox
    ORDER BY d.inbox, d.seq OFFSET @most LIMIT 1);

-- name: InboxesHeld :many
-- How many messages of each sender inboxes hold; those of the server have none.
SELECT d.inbox, d.from_id, count(*)::int AS held FROM unnest(@inboxes::text[]) AS i(inbox)
CROSS JOIN LATERAL (SELECT x.inbox, x.from_id FROM message_delivery x
    WHERE x.workspace_id = @workspace_id AND x.inbox = i.inbox ORDER BY x.inbox, x.seq OFFSET 0) d
GROUP BY d.inbox, d.from_id;

-- name: NoticesDrop :exec
-- Takes the oldest notices of the server out of an inbox.
DELETE FROM message_delivery d WHERE d.workspace_id = @workspace_id AND d.inbox = @inbox AND d.seq = ANY(ARRAY(
    SELECT o.seq FROM message_delivery o WHERE o.workspace_id = @workspace_id AND o.inbox = @inbox AND o.from_id IS NULL
    ORDER BY o.inbox, o.seq LIMIT @max_rows));

-- name: MessageWrite :many
-- Inserts messages that are not there yet, of which no two have the same id or number, and
-- puts them into inboxes; gives those that were inserted.
WITH written AS (
INSERT INTO message (workspace_id, seq, id, type, from_kind, from_id, from_name, to_kind, to_id, to_name, correlation_id, in_reply_to,
    job_id, product_id, sender_products, payload, blob, digest, expires_at)
SELECT @workspace_id, (pg_current_xact_id()::text::bigint << 10) | t.n, t.id, t.type, t.from_kind, t.from_id, t.from_name, t.to_kind,
    t.to_id, t.to_name, t.correlation_id, t.in_reply_to, t.job_id, t.product_id, t.sender_products, t.payload, decode(t.blob, 'hex'),
    decode(t.digest, 'hex'), t.expires_at
FROM jsonb_to_recordset(@messages::jsonb) AS t(n bigint, id uuid, type text, from_kind text, from_id uuid, from_name text, to_kind text,
    to_id uuid, to_name text, correlation_id text, in_reply_to uuid, job_id uuid, product_id uuid, sender_products uuid[], payload jsonb, blob text, digest text,
    expires_at timestamptz)
ORDER BY t.id
ON CONFLICT (workspace_id, id) DO NOTHING
RETURNING id, seq, at, from_id, product_id, sender_products, expires_at
), delivered AS (
INSERT INTO message_delivery (workspace_id, inbox, seq, from_id, product_id, sender_products, expires_at)
SELECT @workspace_id, d.inbox, w.seq, w.from_id, w.product_id, w.sender_products, w.expires_at
FROM (SELECT unnest(@inboxes::text[]) AS inbox, unnest(@ids::uuid[]) AS id) d JOIN written w ON w.id = d.id
)
SELECT w.id, w.seq, w.at FROM written w;

-- name: DeliveryTake :many
-- Hands out what a reader's inboxes hold after a place, the oldest first, up to the
-- horizon of the log, and counts it; with that what was put off until now, wherever it
-- stands. Of shared inboxes a reader gets, for a time, what no other has. What was handed
-- out as often as may be becomes a dead letter instead. A look (peek) hands out nothing.
-- The horizon is asked once, since what takes long here holds it back. The order by inbox,
-- the lists of what is due and the limit of one message keep every plan within this inbox,
-- also one that was made when the tables were empty.
WITH due AS MATERIALIZED (
    SELECT o.inbox, o.seq, o.deliveries, false AS shared FROM (SELECT @own::text AS inbox) i CROSS JOIN LATERAL (
        SELECT d.inbox, d.seq, d.deliveries FROM message_delivery d
        WHERE d.workspace_id = @workspace_id AND d.inbox = i.inbox
            AND d.seq < (SELECT log_horizon()::text::bigint << 10) AND d.dead_at IS NULL
            AND (d.not_before IS NULL OR d.not_before <= clock_timestamp())
            AND (d.expires_at IS NULL OR d.expires_at > clock_timestamp())
            AND (NOT @limited::boolean OR d.product_id = ANY(@products::uuid[])
                OR d.product_id IS NULL AND (d.sender_products IS NULL OR d.sender_products && @products::uuid[]))
            AND (cardinality(@types::text[]) = 0 OR (SELECT m.type FROM message m
                WHERE m.workspace_id = d.workspace_id AND m.seq = d.seq) = ANY(@types::text[]))
            AND (d.seq > @after OR d.not_before IS NOT NULL)
        ORDER BY d.inbox, d.seq LIMIT @max_rows FOR UPDATE) o
    UNION ALL
    SELECT o.inbox, o.seq, o.deliveries, true FROM unnest(@shared::text[]) AS i(inbox) CROSS JOIN LATERAL (
        SELECT d.inbox, d.seq, d.deliveries FROM message_delivery d
        WHERE d.workspace_id = @workspace_id AND d.inbox = i.inbox
            AND d.seq < (SELECT log_horizon()::text::bigint << 10) AND d.dead_at IS NULL
            AND (d.not_before IS NULL OR d.not_before <= clock_timestamp())
            AND (d.expires_at IS NULL OR d.expires_at > clock_timestamp())
            AND (NOT @limited::boolean OR d.product_id = ANY(@products::uuid[])
                OR d.product_id IS NULL AND (d.sender_products IS NULL OR d.sender_products && @products::uuid[]))
            AND (cardinality(@types::text[]) = 0 OR (SELECT m.type FROM message m
                WHERE m.workspace_id = d.workspace_id AND m.seq = d.seq) = ANY(@types::text[]))
            AND (d.seq > @after AND d.reader_id = @reader::uuid OR d.reader_id IS NULL OR d.taken_until <= clock_timestamp())
        ORDER BY d.inbox, d.seq LIMIT @max_rows FOR UPDATE SKIP LOCKED) o
    ORDER BY seq LIMIT @max_rows
), taken AS (
    UPDATE message_delivery d SET deliveries = least(u.deliveries + 1, @most::int), not_before = NULL,
        dead_at = CASE WHEN u.deliveries >= @most::int THEN clock_timestamp() END,
        error = CASE WHEN u.deliveries >= @most::int AND d.error = '' THEN 'It was handed out ' || u.deliveries || ' times and not acknowledged.'
            ELSE d.error END,
        reader_id = CASE WHEN u.shared THEN @reader::uuid END,
        taken_until = CASE WHEN u.shared THEN clock_timestamp() + make_interval(secs => @hold_seconds::double precision) END
    FROM due u WHERE NOT @peek::boolean AND d.workspace_id = @workspace_id AND d.inbox = u.inbox AND d.seq = u.seq
        AND d.inbox = ANY(ARRAY(SELECT l.inbox FROM due l)) AND d.seq = ANY(ARRAY(SELECT l.seq FROM due l))
    RETURNING d.inbox, d.seq, d.deliveries, d.dead_at
)
SELECT coalesce(t.deliveries, u.deliveries)::int AS deliveries, (t.dead_at IS NOT NULL)::boolean AS dead, sqlc.embed(m),
    coalesce((SELECT j.key FROM job j WHERE j.workspace_id = m.workspace_id AND j.id = m.job_id), '')::text AS job_key
FROM due u LEFT JOIN taken t ON t.inbox = u.inbox AND t.seq = u.seq
CROSS JOIN LATERAL (SELECT o.* FROM message o WHERE o.workspace_id = @workspace_id AND o.seq = u.seq LIMIT 1) m
ORDER BY u.seq;

-- name: DeliveryHeldBack :one
-- Whether one of the inboxes holds something that a transaction still running keeps back.
SELECT EXISTS (SELECT FROM unnest(@inboxes::text[]) AS i(inbox) CROSS JOIN LATERAL (
    SELECT d.seq FROM message_delivery d WHERE d.workspace_id = @workspace_id AND d.inbox = i.inbox
        AND d.seq > @after AND d.seq >= (SELECT log_horizon()::text::bigint << 10)
    ORDER BY d.inbox, d.seq LIMIT 1) o)::boolean AS held_back;

-- name: LogNow :one
-- The time, and the horizon of the log as a position: what stands below is final.
SELECT clock_timestamp()::timestamptz AS at, (log_horizon()::text::bigint << 10)::bigint AS seq;

-- name: InboxesDue :many
-- Those of the inboxes that have something to hand out of which no wake-up told those who
-- wait: in a reader's own what was written or put off since the last look, in a shared one
-- whatever nobody has.
SELECT i.inbox::text AS inbox FROM unnest(@own::text[]) AS i(inbox)
WHERE EXISTS (SELECT FROM message_delivery d WHERE d.workspace_id = @workspace_id AND d.inbox = i.inbox AND d.dead_at IS NULL
    AND d.seq < @until
    AND (d.deliveries = 0 AND d.seq >= @since_seq AND d.not_before IS NULL
        OR d.not_before <= clock_timestamp() AND d.not_before > @since_time::timestamptz)
    AND (d.expires_at IS NULL OR d.expires_at > clock_timestamp()))
UNION ALL
SELECT i.inbox::text FROM unnest(@shared::text[]) AS i(inbox)
WHERE EXISTS (SELECT FROM message_delivery d WHERE d.workspace_id = @workspace_id AND d.inbox = i.inbox AND d.dead_at IS NULL
    AND d.seq < @until AND (d.not_before IS NULL OR d.not_before <= clock_timestamp())
    AND (d.expires_at IS NULL OR d.expires_at > clock_timestamp())
    AND (d.taken_until IS NULL OR d.taken_until <= clock_timestamp()));

-- name: DeliveryAckUpTo :execrows
-- Takes out of a reader's inboxes what it was given, up to a place; what was put off stays.
DELETE FROM message_delivery d
WHERE d.workspace_id = @workspace_id AND d.inbox = ANY(@inboxes::text[]) AND d.seq <= @seq AND d.deliveries > 0
    AND d.dead_at IS NULL AND d.not_before IS NULL AND (d.inbox = @own::text OR d.reader_id = @reader::uuid);

-- name: DeliveryAck :execrows
-- Takes single messages out of a reader's inboxes.
DELETE FROM message_delivery d
WHERE d.workspace_id = @workspace_id AND d.inbox = ANY(@inboxes::text[]) AND d.seq = ANY(@seqs::bigint[]) AND d.deliveries > 0
    AND d.dead_at IS NULL AND (d.inbox = @own::text OR d.reader_id = @reader::uuid);

-- name: DeliveryNack :many
-- Gives a message back for later, or to the dead letters after the last delivery.
UPDATE message_delivery d SET error = @error, reader_id = NULL, taken_until = NULL,
    not_before = clock_timestamp() + make_interval(secs => @retry_seconds::double precision),
    dead_at = CASE WHEN d.deliveries >= @most::int THEN clock_timestamp() END
WHERE d.workspace_id = @workspace_id AND d.inbox = ANY(@inboxes::text[]) AND d.seq = @seq
    AND d.deliveries > 0 AND d.dead_at IS NULL AND (d.inbox = @own::text OR d.reader_id = @reader::uuid)
RETURNING (d.dead_at IS NOT NULL)::boolean AS dead;

-- name: DeadLetters :many
SELECT d.inbox, d.deliveries, d.error, d.dead_at, sqlc.embed(m), j.key AS job_key
FROM message_delivery d JOIN message m ON m.workspace_id = d.workspace_id AND m.seq = d.seq
LEFT JOIN job j ON j.workspace_id = m.workspace_id AND j.id = m.job_id
WHERE d.workspace_id = @workspace_id AND d.dead_at IS NOT NULL AND d.seq < @before
ORDER BY d.seq DESC LIMIT @max_rows;

-- name: DeadRedrive :many
-- Lets dead letters of a message be handed out again, as if for the first time.
UPDATE message_delivery d SET deliveries = 0, dead_at = NULL, not_before = clock_timestamp(), reader_id = NULL, taken_until = NULL, error = ''
FROM message m WHERE m.workspace_id = @workspace_id AND m.id = @id AND d.workspace_id = m.workspace_id AND d.seq = m.seq
    AND d.dead_at IS NOT NULL
RETURNING d.inbox;

-- name: DeadDiscard :execrows
DELETE FROM message_delivery d USING message m
WHERE m.workspace_id = @workspace_id AND m.id = @id AND d.workspace_id = m.workspace_id AND d.seq = m.seq AND d.dead_at IS NOT NULL;

-- name: MessageByID :one
SELECT sqlc.embed(m), j.key AS job_key FROM message m
LEFT JOIN job j ON j.workspace_id = m.workspace_id AND j.id = m.job_id
WHERE m.workspace_id = @workspace_id AND m.id = @id;

-- name: MessagePage :many
-- Messages before a place, the newest first; everything that is empty narrows nothing.
SELECT sqlc.embed(m), j.key AS job_key FROM message m
LEFT JOIN job j ON j.workspace_id = m.workspace_id AND j.id = m.job_id
WHERE m.workspace_id = @workspace_id AND m.seq < @before
    AND (cardinality(@types::text[]) = 0 OR m.type = ANY(@types::text[]))
    AND (cardinality(@senders::text[]) = 0 OR m.from_name = ANY(@senders::text[]))
ORDER BY m.seq DESC LIMIT @max_rows;

-- name: MessageThread :many
-- A thread from a place on, the oldest first.
SELECT sqlc.embed(m), j.key AS job_key FROM message m
LEFT JOIN job j ON j.workspace_id = m.workspace_id AND j.id = m.job_id
WHERE m.workspace_id = @workspace_id AND m.correlation_id = @correlation_id AND m.seq > @after
ORDER BY m.seq LIMIT @max_rows;

-- name: MessageSearch :many
-- Messages with these words: the best of the newest ones that have them.
SELECT sqlc.embed(m), j.key AS job_key, f.rank::real AS rank
FROM find_messages(@workspace_id::uuid, cast(sqlc.arg('wanted')::text AS tsquery), @scan::int) f
JOIN message m ON m.workspace_id = @workspace_id AND m.seq = f.seq
LEFT JOIN job j ON j.workspace_id = m.workspace_id AND j.id = m.job_id
WHERE (cardinality(@types::text[]) = 0 OR m.type = ANY(@types::text[]))
    AND (cardinality(@senders::text[]) = 0 OR m.from_name = ANY(@senders::text[]))
    AND (cardinality(@jobs::text[]) = 0 OR j.key = ANY(@jobs::text[]))
ORDER BY f.rank DESC, m.seq DESC LIMIT @max_rows;

-- name: MessageWordsLock :one
-- Locks up to which message there are words. A workspace begins with its first message.
INSERT INTO message_words_place AS p (workspace_id) VALUES (@workspace_id)
ON CONFLICT (workspace_id) DO UPDATE SET seq = p.seq
RETURNING seq, era, filled;

-- name: MessageWordsPlaceSave :exec
UPDATE message_words_place SET seq = @seq, era = @era, filled = @filled WHERE workspace_id = @workspace_id;

-- name: MessageWordsTexts :many
-- What the next messages are found by, up to the horizon of the log.
SELECT m.seq, m.type, m.from_name, m.to_name, m.correlation_id, m.payload FROM message m
WHERE m.workspace_id = @workspace_id AND m.seq > @after AND m.seq < log_horizon()::text::bigint << 10
ORDER BY m.seq LIMIT @max_rows;

-- name: MessageWordsHeldBack :one
-- Whether there are messages after a place that a transaction still running keeps back.
SELECT EXISTS (SELECT FROM message m WHERE m.workspace_id = @workspace_id AND m.seq > @after ORDER BY m.seq LIMIT 1)::boolean AS held;

-- name: MessageWordsWrite :exec
INSERT INTO message_words (workspace_id, seq, words)
SELECT @workspace_id, i.seq, words_of_era(@workspace_id, @era::int) || i.words::tsvector
FROM (SELECT unnest(@seqs::bigint[]) AS seq, unnest(@words::text[]) AS words) i
ON CONFLICT (workspace_id, seq) DO NOTHING;

-- name: MessageTail :many
-- What was said after a place, up to the horizon of the log, the oldest first.
SELECT sqlc.embed(m), j.key AS job_key FROM message m
LEFT JOIN job j ON j.workspace_id = m.workspace_id AND j.id = m.job_id
WHERE m.workspace_id = @workspace_id AND m.seq > @after AND m.seq < log_horizon()::text::bigint << 10
ORDER BY m.seq LIMIT @max_rows;

-- name: DeliveryExpire :execrows
DELETE FROM message_delivery d WHERE d.workspace_id = @workspace_id AND d.seq IN (
    SELECT e.seq FROM message_delivery e WHERE e.workspace_id = @workspace_id AND e.expires_at <= now()
    ORDER BY e.expires_at LIMIT @max_rows) AND d.expires_at <= now();

-- name: MessageOld :many
-- The oldest messages after a place, of which the first was said before a time: whether
-- each was, and whether it can go. One stays that an inbox holds, or that lies before an
-- export which has moved within that time.
SELECT m.seq, (m.at < @before::timestamptz)::boolean AS is_old, (NOT EXISTS (SELECT FROM message_delivery d
        WHERE d.workspace_id = m.workspace_id AND d.seq = m.seq AND (d.expires_at IS NULL OR d.expires_at > now()))
    AND NOT EXISTS (SELECT FROM message_export e WHERE e.workspace_id = m.workspace_id AND e.source = 'messages'
        AND e.acked_at > @before::timestamptz AND m.seq > coalesce(nullif(e.place, '')::bigint, 0)))::boolean AS is_free
FROM message m WHERE m.workspace_id = @workspace_id AND m.seq = ANY(ARRAY(SELECT o.seq FROM message o
    WHERE o.workspace_id = @workspace_id AND o.seq > @after
        AND (SELECT f.at FROM message f WHERE f.workspace_id = @workspace_id AND f.seq > @after ORDER BY f.seq LIMIT 1) < @before::timestamptz
    ORDER BY o.seq LIMIT @max_rows))
ORDER BY m.seq;

-- name: MessagesBySeqs :many
SELECT sqlc.embed(m), j.key AS job_key FROM message m
LEFT JOIN job j ON j.workspace_id = m.workspace_id AND j.id = m.job_id
WHERE m.workspace_id = @workspace_id AND m.seq = ANY(@seqs::bigint[]) ORDER BY m.seq;

-- name: MessageDrop :many
-- Drops old messages that can go, after MessageOld, and gives their ids.
DELETE FROM message m WHERE m.workspace_id = @workspace_id AND m.seq = ANY(@seqs::bigint[])
    AND NOT EXISTS (SELECT FROM message_delivery d
        WHERE d.workspace_id = m.workspace_id AND d.seq = m.seq AND (d.expires_at IS NULL OR d.expires_at > now()))
    AND NOT EXISTS (SELECT FROM message_export e WHERE e.workspace_id = m.workspace_id AND e.source = 'messages'
        AND e.acked_at > @before::timestamptz AND m.seq > coalesce(nullif(e.place, '')::bigint, 0))
RETURNING m.id;

-- name: ArchiveInsert :exec
INSERT INTO message_archive (workspace_id, id, first_seq, last_seq, messages, blob)
VALUES (@workspace_id, @id, @first_seq, @last_seq, @messages, @blob);

-- name: ArchiveList :many
-- Archives before a place, the newest messages first.
SELECT a.id, a.first_seq, a.last_seq, a.messages, a.blob, a.at, b.size FROM message_archive a
JOIN blob b ON b.workspace_id = a.workspace_id AND b.sha256 = a.blob
WHERE a.workspace_id = @workspace_id AND a.last_seq < @before
ORDER BY a.last_seq DESC LIMIT @max_rows;

-- name: ArchiveDrop :execrows
DELETE FROM message_archive a WHERE a.workspace_id = @workspace_id AND a.id IN (SELECT o.id FROM message_archive o
    WHERE o.workspace_id = @workspace_id AND o.at < @before LIMIT @max_rows);

-- name: BridgeLock :one
-- Locks how far events have become messages; a workspace begins with its first event.
INSERT INTO message_bridge (workspace_id, place) VALUES (@workspace_id, '')
ON CONFLICT (workspace_id) DO UPDATE SET place = message_bridge.place
RETURNING place;

-- name: BridgeSave :exec
UPDATE message_bridge SET place = @place WHERE workspace_id = @workspace_id;

-- name: BridgeSubmitters :many
-- Who submitted jobs, by their first event.
SELECT j.id::uuid AS job_id, e.actor_kind, e.actor_id, e.actor FROM unnest(@jobs::uuid[]) AS j(id)
CROSS JOIN LATERAL (SELECT c.actor_kind, c.actor_id, c.actor, c.type FROM event c
    WHERE c.workspace_id = @workspace_id AND c.job_id = j.id ORDER BY c.id LIMIT 1) e
WHERE e.type = 'job.created';

-- name: BridgeHandedIn :many
-- The factories of attempts, each with its place in the list.
SELECT n.n::int AS n, a.factory
FROM (SELECT unnest(@jobs::uuid[]) AS job_id, unnest(@epochs::bigint[]) AS epoch, generate_subscripts(@jobs::uuid[], 1) AS n) n
CROSS JOIN LATERAL (SELECT x.factory FROM attempt x
    WHERE x.workspace_id = @workspace_id AND x.job_id = n.job_id AND x.epoch = n.epoch OFFSET 0) a;

-- name: RoleLives :one
-- Whether an agent of a role lives.
SELECT EXISTS (SELECT FROM agent a WHERE a.workspace_id = @workspace_id AND @role::text = ANY(a.roles)
    AND (a.terminated_at IS NULL OR a.ended_gracefully)
    AND a.last_heartbeat_at > clock_timestamp() - make_interval(secs => a.dead_after_seconds))::boolean AS lives;

-- name: ExportList :many
SELECT * FROM message_export WHERE workspace_id = @workspace_id ORDER BY name;

-- name: ExportInsert :one
INSERT INTO message_export (workspace_id, name, source, created_by) VALUES (@workspace_id, @name, @source, @created_by)
ON CONFLICT (workspace_id, name) DO UPDATE SET name = excluded.name
RETURNING *;

-- name: ExportByName :one
SELECT * FROM message_export WHERE workspace_id = @workspace_id AND name = @name;

-- name: ExportLock :one
SELECT * FROM message_export WHERE workspace_id = @workspace_id AND name = @name FOR NO KEY UPDATE;

-- name: ExportHandOut :exec
-- Says that lines up to a place were given out.
UPDATE message_export SET handed = @handed WHERE workspace_id = @workspace_id AND name = @name;

-- name: ExportReset :one
UPDATE message_export SET place = @place, handed = @place, acked_at = now() WHERE workspace_id = @workspace_id AND name = @name
RETURNING *;

-- name: ExportDelete :exec
DELETE FROM message_export WHERE workspace_id = @workspace_id AND name = @name;

-- name: ExportMove :one
UPDATE message_export SET place = @place, acked_at = now() WHERE workspace_id = @workspace_id AND name = @name
RETURNING *;

-- name: ThreadEnds :many
-- Messages before a place, the newest first, and of each whether its thread ends with it: of
-- the notices of the server, or of what agents and people write.
SELECT l.seq, ((l.from_kind = 'system') = @notices::boolean AND l.seq = (SELECT x.seq FROM message x
    WHERE x.workspace_id = @workspace_id AND x.correlation_id = l.correlation_id AND (x.from_kind = 'system') = @notices::boolean
    ORDER BY x.seq DESC LIMIT 1))::boolean AS ends
FROM (SELECT m.seq, m.correlation_id, m.from_kind FROM message m WHERE m.workspace_id = @workspace_id AND m.seq < @before
    ORDER BY m.seq DESC LIMIT @max_rows) l
ORDER BY l.seq DESC;

-- name: ThreadsEnding :many
-- The threads that end with these messages: how they began, who wrote the newest messages.
SELECT sqlc.embed(m), j.key AS job_key, coalesce(j.title, '')::text AS job_title, f.type AS first_type, f.payload AS first_payload,
    ARRAY(SELECT DISTINCT w.from_name FROM (SELECT p.from_name FROM message p
        WHERE p.workspace_id = m.workspace_id AND p.correlation_id = m.correlation_id
        ORDER BY p.seq DESC LIMIT 20) w ORDER BY w.from_name)::text[] AS who
FROM message m
LEFT JOIN job j ON j.workspace_id = m.workspace_id AND j.id = m.job_id
CROSS JOIN LATERAL (SELECT g.type, g.payload FROM message g
    WHERE g.workspace_id = m.workspace_id AND g.correlation_id = m.correlation_id ORDER BY g.seq LIMIT 1) f
WHERE m.workspace_id = @workspace_id AND m.seq = ANY(@seqs::bigint[])
ORDER BY m.seq DESC;

-- name: ThreadNewest :many
-- The newest messages of a thread before a place, the newest first.
SELECT sqlc.embed(m), j.key AS job_key FROM message m
LEFT JOIN job j ON j.workspace_id = m.workspace_id AND j.id = m.job_id
WHERE m.workspace_id = @workspace_id AND m.correlation_id = @correlation_id AND m.seq < @before
ORDER BY m.seq DESC LIMIT @max_rows;

-- name: InboxThreads :many
-- Those of the threads of which an inbox holds something.
SELECT DISTINCT m.correlation_id FROM message_delivery d
JOIN message m ON m.workspace_id = d.workspace_id AND m.seq = d.seq
WHERE d.workspace_id = @workspace_id AND d.inbox = @inbox AND d.dead_at IS NULL
    AND (d.expires_at IS NULL OR d.expires_at > clock_timestamp()) AND m.correlation_id = ANY(@threads::text[]);

-- name: InboxSeen :execrows
-- Takes out of an inbox what it holds of a thread up to a place.
DELETE FROM message_delivery d USING message m
WHERE d.workspace_id = @workspace_id AND d.inbox = @inbox AND d.seq <= @seq AND d.dead_at IS NULL
    AND m.workspace_id = d.workspace_id AND m.seq = d.seq AND m.correlation_id = @correlation_id;

-- name: MessagesByIDs :many
SELECT sqlc.embed(m), j.key AS job_key FROM message m
LEFT JOIN job j ON j.workspace_id = m.workspace_id AND j.id = m.job_id
WHERE m.workspace_id = @workspace_id AND m.id = ANY(@ids::uuid[]);
