-- The notifications to listeners. Their text is not the name of a queue but a number that few queues share: so a
-- transaction about thousands of queues needs few of them.

CREATE OR REPLACE FUNCTION {bucket}(p_queue pg_catalog.text) RETURNS bigint LANGUAGE sql IMMUTABLE AS $dlock$
    SELECT pg_catalog.hashtextextended(p_queue, 0) OPERATOR(pg_catalog.&) 63
$dlock$;

-- Announces, once the caller's transaction is committed, that there may be something to claim.
-- Parameters: the queues.
-- Result: none.
--
-- A commit that notifies takes a lock on the whole database until it is on the disk, so such commits come one after the
-- other: 16 sessions that all notified enqueued 240 tasks/s on a disk on which they did 1250 without. So of those
-- transactions that began within the same 20 ms only one notifies at a time, and the others rely on it: a listener that
-- receives it asks again a little later (tasks/wakeups.rs). With that the figure is that without notifications. The
-- slice is that of the transaction's beginning, not of the current time, so that one transaction takes one lock for
-- each number however long it lasts, and keeps only those that began with it from notifying.
--
-- No notification is sent if dlock.hints is off, or if the server can hardly take any more: it would refuse the commit.
CREATE OR REPLACE FUNCTION {tell}(p_queues pg_catalog.text[]) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $dlock$
BEGIN
    IF current_setting('dlock.hints', true) = 'off' OR pg_notification_queue_usage() > 0.5 THEN
        RETURN;
    END IF;
    PERFORM pg_notify('{channel}', '{schema}/' || b.bucket)
    FROM (SELECT DISTINCT {bucket}(q.queue) AS bucket FROM unnest(p_queues) AS q (queue) OFFSET 0) AS b
    WHERE pg_try_advisory_xact_lock(
        hashtextextended('{schema}/' || b.bucket, (extract(epoch FROM now()) * 50)::bigint));
END
$dlock$;
