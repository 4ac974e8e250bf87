-- Heartbeats of many claims, each separately, in one transaction (R1 to R3).
-- Parameters, arrays of one length: the tasks; the claims' uuids; their tokens; the numbers of these renewals.
-- Result: a row for each: verdict, whether the worker was asked to stop, the row shown, the store's clock, its place in
-- the arrays, from 1. The verdict is
--   'renewed'  R1, R2
--   'lost'     R3, and the row that shows it
--   'absent'   R3: the task has ended, or does not exist
--   'unsound'  the row is no task; nothing was written
--   'unfit'    the number of this renewal is 2^53 or more (T2); nothing was written
--   'locked'   it fits R1, but another session has locked or just changed the row; nothing was written
--
-- The batch waits for no row: if it waited for one, it would keep all the others locked, and their next renewals out,
-- for as long as it waits. For the same reason, and because rows are locked in the order of their numbers, two batches
-- never deadlock.
CREATE OR REPLACE FUNCTION {renew}(
    p_ids bigint[], p_uuids pg_catalog.uuid[], p_tokens bigint[], p_ns bigint[]
) RETURNS TABLE (
    verdict pg_catalog.text, asked boolean, shown {task}, clock pg_catalog.timestamptz, place bigint
) LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET lock_timeout = '2s' SET enable_hashjoin = off
SET enable_mergejoin = off SET enable_seqscan = off SET enable_bitmapscan = off SET jit = off AS $dlock$
#variable_conflict use_column
DECLARE
    v_places bigint[];
    v_asked boolean[];
    v_left record;
    v_task {task};
    v_now timestamptz;
BEGIN
    -- A renewal that a crash can undo does not count.
    IF current_setting('synchronous_commit') = 'off' THEN
        PERFORM set_config('synchronous_commit', 'on', true);
    END IF;

    -- Of many renewals of one claim the largest number is written here, and the others find it below.
    WITH free AS MATERIALIZED (
        SELECT u.id, u.n, u.place
        FROM (
            SELECT DISTINCT ON (u.id, u.uuid, u.token) u.id, u.uuid, u.token, u.n, u.place
            FROM unnest((SELECT p_ids), (SELECT p_uuids), (SELECT p_tokens), (SELECT p_ns))
                WITH ORDINALITY AS u (id, uuid, token, n, place)
            ORDER BY u.id, u.uuid, u.token, u.n DESC
            OFFSET 0
        ) AS u CROSS JOIN LATERAL (
            SELECT FROM {task} AS t
            WHERE t.id = u.id AND t.uuid = u.uuid AND t.token = u.token AND NOT t.released
                AND t.renewals < u.n AND u.n <= 9007199254740991 AND t.expiry > clock_timestamp() AND {sound}(t)
            FOR UPDATE SKIP LOCKED
        ) AS t
    ), renewed AS (
        UPDATE {task} AS t SET
            renewals = f.n,
            expiry = clock_timestamp() + t.duration::double precision * interval '1 millisecond'
        FROM free AS f
        -- No session has changed the row since, but time has passed. By its number, see claim.sql.
        WHERE t.id = ANY (ARRAY[f.id]) AND t.expiry > clock_timestamp()
        RETURNING f.place, t.asked
    )
    SELECT array_agg(r.place), array_agg(r.asked) INTO v_places, v_asked FROM renewed AS r;

    RETURN QUERY
    SELECT 'renewed', u.asked, NULL::{task}, NULL::timestamptz, u.place  -- R1
    FROM unnest(v_places, v_asked) AS u (place, asked);

    IF cardinality(v_places) = cardinality(p_ids) THEN
        RETURN;
    END IF;
    FOR v_left IN
        SELECT u.id, u.uuid, u.token, u.n, u.place
        FROM unnest((SELECT p_ids), (SELECT p_uuids), (SELECT p_tokens), (SELECT p_ns))
            WITH ORDINALITY AS u (id, uuid, token, n, place)
        WHERE u.place <> ALL (coalesce(v_places, ARRAY[]::bigint[]))
    LOOP
        -- The clock first: a lease that had expired by it had expired when it was read.
        v_now := clock_timestamp();
        SELECT t.* INTO v_task FROM {task} AS t WHERE t.id = v_left.id;
        verdict := CASE
            WHEN NOT FOUND THEN 'absent'
            WHEN NOT {sound}(v_task) THEN 'unsound'
            WHEN v_task.uuid IS DISTINCT FROM v_left.uuid OR v_task.token <> v_left.token OR v_task.released
                THEN 'lost'
            WHEN v_task.renewals >= v_left.n THEN 'renewed'  -- R2
            WHEN v_task.expiry <= v_now THEN 'lost'
            WHEN v_left.n > 9007199254740991 THEN 'unfit'
            ELSE 'locked'
        END;
        RETURN QUERY SELECT verdict, v_task.asked, v_task, v_now, v_left.place;
    END LOOP;
END
$dlock$;
