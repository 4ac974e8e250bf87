-- Ends many claims, each separately as in end.sql, in one transaction.
-- Parameters, arrays of one length: those of end.sql.
-- Result: rows with places in the arrays, from 1, and the answer of end.sql for each of them. Each place is in one row.
--
-- One statement makes all completions, and they have one row: a call and a row for each cost several times as much. The
-- rows are locked in the order of their numbers, so two batches do not deadlock. Each is taken by its number, see
-- claim.sql. Only the numbers are sorted; the rest is taken from the arrays when it is needed.
CREATE OR REPLACE FUNCTION {finish}(
    p_ids bigint[], p_uuids pg_catalog.uuid[], p_tokens bigint[], p_hows pg_catalog.text[],
    p_outputs pg_catalog.text[], p_errors pg_catalog.text[], p_delays bigint[]
) RETURNS TABLE (places bigint[], own boolean, state pg_catalog.text)
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET lock_timeout = '2s' SET enable_hashjoin = off
SET enable_mergejoin = off SET enable_seqscan = off SET enable_bitmapscan = off SET jit = off AS $dlock$
#variable_conflict use_column
DECLARE
    -- Read once for all of them, see term.sql.
    v_now timestamptz := clock_timestamp();
    v_places bigint[];
    v_queues text[];
BEGIN
    -- An ending that a crash can undo does not count.
    IF current_setting('synchronous_commit') = 'off' THEN
        PERFORM set_config('synchronous_commit', 'on', true);
    END IF;

    -- Completions are made first. If there are other endings too, all rows are locked in the order of their numbers
    -- before that.
    IF 'complete' <> ANY (p_hows) THEN
        PERFORM FROM (
            SELECT DISTINCT u.id FROM unnest((SELECT p_ids)) AS u (id) ORDER BY u.id OFFSET 0
        ) AS u CROSS JOIN LATERAL (
            SELECT FROM {task} AS t WHERE t.id = u.id AND t.uuid = ANY (p_uuids) FOR UPDATE
        ) AS t;
    END IF;

    -- Of two endings of one task the second is not made here, and finds the first below.
    WITH gone AS (
        DELETE FROM {task} AS t USING (
            SELECT DISTINCT ON (u.id) u.id, u.place
            FROM unnest((SELECT p_ids)) WITH ORDINALITY AS u (id, place)
            ORDER BY u.id, u.place
            OFFSET 0
        ) AS u
        WHERE t.id = ANY (ARRAY[u.id]) AND t.uuid = p_uuids[u.place] AND t.token = p_tokens[u.place] AND NOT t.released
            AND p_hows[u.place] = 'complete'
        RETURNING t.id, t.queue, t.priority, t.run_at, t.attempt, t.max_attempts, t.kind, t.key, t.key_until_start, t.lane,
            t.payload, t.errors, t.created, t.checkpoint, t.token, u.place
    ), kept AS (
        INSERT INTO {done} (
            id, queue, priority, run_at, attempt, max_attempts, kind, key, key_until_start, lane, payload,
            errors, created, checkpoint, token, state, output, ending, ended)
        SELECT
            g.id, g.queue, g.priority, g.run_at, g.attempt, g.max_attempts, g.kind, g.key, g.key_until_start, g.lane,
            g.payload, g.errors, g.created, g.checkpoint, g.token, 'succeeded', p_outputs[g.place]::json, g.token, v_now
        FROM gone AS g
    )
    SELECT array_agg(g.place), array_agg(g.queue) FILTER (
        WHERE g.lane IS NOT NULL OR g.queue = ANY (ARRAY(SELECT l.queue FROM {limit} AS l)))
    INTO v_places, v_queues
    FROM gone AS g;

    IF v_queues IS NOT NULL THEN
        PERFORM {tell}(v_queues); -- Others of the lane, or of a queue with a limit, may have waited.
    END IF;

    IF v_places IS NOT NULL THEN
        places := v_places;
        own := true;
        state := 'succeeded';
        RETURN NEXT;
    END IF;

    IF cardinality(v_places) = cardinality(p_ids) THEN
        RETURN;
    END IF;
    RETURN QUERY
    SELECT ARRAY[u.place], e.own, e.state
    FROM (
        SELECT u.* FROM (
            SELECT u.id, u.place FROM unnest((SELECT p_ids)) WITH ORDINALITY AS u (id, place)
        ) AS u
        WHERE u.place <> ALL (coalesce(v_places, ARRAY[]::bigint[]))
        ORDER BY u.id, u.place
        OFFSET 0
    ) AS u CROSS JOIN LATERAL {end}(
        p_ids[u.place], p_uuids[u.place], p_tokens[u.place], p_hows[u.place], p_outputs[u.place],
        p_errors[u.place], p_delays[u.place]
    ) AS e;
END
$dlock$;
