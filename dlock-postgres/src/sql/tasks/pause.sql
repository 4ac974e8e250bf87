-- Pauses a queue, or resumes it and notifies those who wait for its tasks.
-- Parameters: the queue; whether it is to be paused.
-- Result: none. A queue that is already paused stays as it is.
CREATE OR REPLACE FUNCTION {pause}(p_queue pg_catalog.text, p_paused boolean) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET lock_timeout = '2s' AS $dlock$
BEGIN
    -- A pause that a crash can undo does not count.
    IF current_setting('synchronous_commit') = 'off' THEN
        PERFORM set_config('synchronous_commit', 'on', true);
    END IF;
    IF p_paused THEN
        INSERT INTO {paused} (queue, since) VALUES (p_queue, clock_timestamp()) ON CONFLICT (queue) DO NOTHING;
    ELSE
        DELETE FROM {paused} AS p WHERE p.queue = p_queue;
        PERFORM {tell}(ARRAY[p_queue]);
    END IF;
END
$dlock$
