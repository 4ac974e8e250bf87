-- Limits how many tasks of a queue run at a time, or removes the limit, and notifies those who wait for its tasks.
-- Parameters: the queue; the limit, null for none.
-- Result: none.
CREATE OR REPLACE FUNCTION {set_limit}(p_queue pg_catalog.text, p_most bigint) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET lock_timeout = '2s' SET enable_seqscan = off AS $dlock$
BEGIN
    -- A limit that a crash can undo does not count.
    IF current_setting('synchronous_commit') = 'off' THEN
        PERFORM set_config('synchronous_commit', 'on', true);
    END IF;
    PERFORM {fresh}();
    -- No claim is in progress from here on.
    PERFORM pg_advisory_xact_lock({gate}());
    IF p_most IS NULL THEN
        DELETE FROM {limit} AS l WHERE l.queue = p_queue;
        DELETE FROM {slot} AS s WHERE s.queue = p_queue;
    ELSE
        INSERT INTO {limit} AS l (queue, most) VALUES (p_queue, p_most) ON CONFLICT (queue) DO NOTHING;
        IF FOUND THEN
            -- The tasks that already run.
            INSERT INTO {slot} (queue, id, token)
            SELECT t.queue, t.id, t.token FROM {task} AS t
            WHERE t.queue = p_queue AND t.run_at <= clock_timestamp() AND NOT t.behind AND NOT t.released;
        ELSE
            UPDATE {limit} AS l SET most = p_most WHERE l.queue = p_queue;
        END IF;
    END IF;
    PERFORM {tell}(ARRAY[p_queue]);
END
$dlock$
