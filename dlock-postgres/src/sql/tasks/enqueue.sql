-- Adds tasks, all or none.
-- Parameters, arrays of one length: queues; priorities; how long each has to wait, in microseconds; the instant from
-- which it may run instead, in microseconds of Unix time, or null; the most attempts; kinds; keys or null; whether the
-- key ends with the start of the task; lanes or null; payloads as JSON.
-- Result: a row for each: its place in the arrays, from 1; the number of the task; whether it is new.
--
-- Keys are inserted in their order, so that two sessions that add the same keys do not deadlock. If that order cannot
-- be kept, since a key becomes free while later ones are inserted, the call fails with a serialization failure and has
-- to be repeated. Numbers are drawn in the order of the arrays, and none for a key that is in use.
CREATE OR REPLACE FUNCTION {enqueue}(
    p_queues pg_catalog.text[], p_priorities integer[], p_delays bigint[], p_instants bigint[],
    p_max_attempts integer[], p_kinds pg_catalog.text[], p_keys pg_catalog.text[], p_until_starts boolean[],
    p_lanes pg_catalog.text[], p_payloads pg_catalog.text[]
) RETURNS TABLE (place bigint, number bigint, is_new boolean)
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET lock_timeout = '2s'
SET enable_seqscan = off SET enable_bitmapscan = off SET jit = off AS $dlock$
#variable_conflict use_column
DECLARE
    v_now timestamptz := clock_timestamp();
    v_open bigint[] := ARRAY(SELECT generate_series(1, cardinality(p_queues)));
    v_places bigint[];
    v_numbers bigint[];
    v_added boolean := false;
BEGIN
    FOR round IN 1..5 LOOP
        -- The key is in use.
        SELECT array_agg(u.place), array_agg(t.id) INTO v_places, v_numbers
        FROM unnest((SELECT v_open)) AS u (place) CROSS JOIN LATERAL (
            (SELECT t.id FROM {task} AS t
            WHERE t.queue = p_queues[u.place] AND t.key = p_keys[u.place] AND NOT t.key_until_start
            LIMIT 1)
            UNION ALL
            -- No claim starts it before this transaction has ended, so its handler sees everything that was written
            -- here.
            SELECT w.id FROM (
                SELECT t.id FROM {task} AS t
                WHERE t.queue = p_queues[u.place] AND t.key = p_keys[u.place] AND t.key_until_start
                LIMIT 1
                FOR SHARE
            ) AS w
        ) AS t;
        IF v_places IS NOT NULL THEN
            RETURN QUERY SELECT u.place, u.number, false FROM unnest(v_places, v_numbers) AS u (place, number);
            v_open := ARRAY(SELECT unnest(v_open) EXCEPT SELECT unnest(v_places) ORDER BY 1);
        END IF;
        EXIT WHEN v_added AND cardinality(v_open) > 0;

        WITH given AS MATERIALIZED (
            SELECT u.place, nextval('{schema}.dlock_task_id_seq') AS number
            FROM (SELECT u.place FROM unnest((SELECT v_open)) AS u (place) ORDER BY u.place OFFSET 0) AS u
        ), added AS (
            INSERT INTO {task} (
                id, queue, priority, run_at, attempt, max_attempts, kind, key, key_until_start, lane, payload,
                errors, created, checkpoints, token)
            OVERRIDING SYSTEM VALUE
            SELECT
                g.number, p_queues[g.place], p_priorities[g.place],
                CASE
                    WHEN p_instants[g.place] IS NULL
                        THEN v_now + p_delays[g.place]::double precision * interval '1 microsecond'
                    ELSE to_timestamp(0) + p_instants[g.place]::double precision * interval '1 microsecond'
                END,
                0, p_max_attempts[g.place], p_kinds[g.place], p_keys[g.place], p_until_starts[g.place],
                p_lanes[g.place], p_payloads[g.place]::json, '[]', v_now, 0, 0
            FROM given AS g
            ORDER BY p_queues[g.place] COLLATE "C", p_keys[g.place] COLLATE "C", g.place
            ON CONFLICT (queue, key) WHERE key IS NOT NULL DO NOTHING
            RETURNING id
        )
        SELECT array_agg(g.place), array_agg(g.number) INTO v_places, v_numbers
        FROM given AS g WHERE g.number IN (SELECT a.id FROM added AS a);
        IF v_places IS NOT NULL THEN
            v_added := true;
            PERFORM {tell}(p_queues);
            RETURN QUERY SELECT u.place, u.number, true FROM unnest(v_places, v_numbers) AS u (place, number);
            IF cardinality(v_places) = cardinality(v_open) THEN
                RETURN;
            END IF;
            v_open := ARRAY(SELECT unnest(v_open) EXCEPT SELECT unnest(v_places) ORDER BY 1);
        END IF;
        -- Another session was faster: those keys are in use now, or were until a moment ago.
        IF cardinality(v_open) = 0 THEN
            RETURN;
        END IF;
    END LOOP;
    RAISE EXCEPTION 'the keys of these tasks come and go' USING ERRCODE = 'serialization_failure';
END
$dlock$;
