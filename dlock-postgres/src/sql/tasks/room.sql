-- How many more tasks of a queue with a limit may run. From then on no transaction but the caller's gives out tasks of
-- this queue.
-- Parameters: the queue.
-- Result: how many; when the first lease that holds a place ends, null if none does.
-- Tasks are taken by their numbers, see claim.sql.
CREATE OR REPLACE FUNCTION {room}(p_queue pg_catalog.text, OUT room bigint, OUT ends pg_catalog.timestamptz)
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET enable_hashjoin = off SET enable_mergejoin = off
SET enable_seqscan = off SET enable_bitmapscan = off SET jit = off AS $dlock$
BEGIN
    -- Every later statement sees the commits of the transactions that had the lock before.
    PERFORM pg_advisory_xact_lock(hashtextextended('{schema}/' || p_queue, 2));

    DELETE FROM {slot} AS s
    WHERE s.queue = p_queue
        AND NOT EXISTS (SELECT FROM {task} AS t WHERE t.id = s.id AND t.token = s.token AND NOT t.released);
    -- A heartbeat that has a row locked may just renew its lease, and an ending may just keep its task's data: neither
    -- has lost its place.
    DELETE FROM {slot} AS s USING (
        SELECT t.id
        FROM {slot} AS s JOIN {task} AS t ON t.id = ANY (ARRAY[s.id])
        WHERE s.queue = p_queue AND t.token = s.token AND NOT t.released AND t.expiry <= clock_timestamp()
        FOR UPDATE OF t SKIP LOCKED
    ) AS o
    WHERE s.queue = p_queue AND s.id = o.id;

    SELECT greatest(l.most - (SELECT count(*) FROM {slot} AS s WHERE s.queue = p_queue), 0) INTO room
    FROM {limit} AS l WHERE l.queue = p_queue;
    SELECT min(t.expiry) INTO ends
    FROM {slot} AS s JOIN {task} AS t ON t.id = ANY (ARRAY[s.id]) AND t.token = s.token
    WHERE s.queue = p_queue;
END
$dlock$
