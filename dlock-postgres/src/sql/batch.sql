-- Renewals of many terms, each separately as in renew.sql, in one transaction (R1 to R3).
-- Parameters: prefix; names; uuids; numbers: arrays of one length.
-- Result: a row for each: verdict, whether a client asked for the lock, the record shown, the store's
-- clock, its place in the arrays, from 1. The verdicts are those of renew.sql, and
--   'locked'  the record fits R1, but another session has locked its row; nothing was written
--
-- One statement renews all terms that fit R1: a call for each costs ten times as much. The planner may
-- only take each row by the key, so a batch never reads the whole table: the arrays are wrapped lest
-- the planner counts them, and the UPDATE compares the key with an array of one, by which an index can
-- be searched but not walked. While the table is empty the planner would choose a plan that walks
-- along the index, and the session would keep it when the table is full. The batch waits for no row:
-- if it waited for one, it would keep all the others locked, and their next renewals out, for as long
-- as it waits. For the same reason two batches never deadlock.
CREATE OR REPLACE FUNCTION {batch}(
    p_prefix pg_catalog.text, p_names pg_catalog.text[], p_uuids pg_catalog.uuid[], p_ns bigint[]
) RETURNS TABLE (
    verdict pg_catalog.text, asked boolean, shown {table}, clock pg_catalog.timestamptz, place bigint
) LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET lock_timeout = '2s' SET enable_hashjoin = off
SET enable_mergejoin = off SET enable_seqscan = off SET enable_bitmapscan = off AS $dlock$
DECLARE
    v_places bigint[];
    v_asked boolean[];
    v_left record;
BEGIN
    -- A renewal that a crash can undo does not count.
    IF current_setting('synchronous_commit') = 'off' THEN
        PERFORM set_config('synchronous_commit', 'on', true);
    END IF;

    -- Of two renewals of one term the first is made here, and the second finds it below.
    WITH free AS MATERIALIZED (
        SELECT u.prefix, u.name, u.n, u.place
        FROM (
            SELECT p_prefix AS prefix, u.name, u.uuid, u.n, u.place
            FROM unnest((SELECT p_names), (SELECT p_uuids), (SELECT p_ns))
                WITH ORDINALITY AS u (name, uuid, n, place)
            ORDER BY u.name COLLATE "C", u.place
            OFFSET 0
        ) AS u CROSS JOIN LATERAL (
            SELECT FROM {table} AS l
            WHERE l.prefix = p_prefix AND l.name = u.name AND l.uuid = u.uuid AND NOT l.released
                AND l.renewals < u.n AND u.n <= 9007199254740991 AND l.expiry > clock_timestamp() AND {sound}(l)
            FOR UPDATE SKIP LOCKED
        ) AS l
    ), renewed AS (
        UPDATE {table} AS l SET
            renewals = i.n,
            expiry = clock_timestamp() + l.duration::double precision * interval '1 millisecond'
        FROM free AS i
        -- No session has changed the row since, but time has passed.
        WHERE l.prefix = ANY (ARRAY[i.prefix]) AND l.name = i.name AND l.renewals < i.n
            AND l.expiry > clock_timestamp()
        RETURNING i.place, l.asked
    )
    SELECT array_agg(r.place), array_agg(r.asked) INTO v_places, v_asked FROM renewed AS r;

    RETURN QUERY
    SELECT 'renewed', u.asked, NULL::{table}, NULL::timestamptz, u.place  -- R1
    FROM unnest(v_places, v_asked) AS u (place, asked);

    IF cardinality(v_places) = cardinality(p_names) THEN
        RETURN;
    END IF;
    FOR v_left IN
        SELECT u.name, u.uuid, u.n, u.place
        FROM unnest((SELECT p_names), (SELECT p_uuids), (SELECT p_ns))
            WITH ORDINALITY AS u (name, uuid, n, place)
        WHERE u.place <> ALL (coalesce(v_places, ARRAY[]::bigint[]))
        ORDER BY u.name COLLATE "C", u.place
    LOOP
        PERFORM FROM {table} AS l
        WHERE l.prefix = p_prefix AND l.name = v_left.name AND l.uuid = v_left.uuid AND NOT l.released
            AND l.renewals < v_left.n AND v_left.n <= 9007199254740991 AND l.expiry > clock_timestamp()
            AND {sound}(l);
        IF FOUND THEN
            PERFORM FROM {table} AS l WHERE l.prefix = p_prefix AND l.name = v_left.name FOR UPDATE SKIP LOCKED;
            IF NOT FOUND THEN
                RETURN QUERY SELECT 'locked', NULL::boolean, NULL::{table}, NULL::timestamptz, v_left.place;
                CONTINUE;
            END IF;
        END IF;
        -- The row is ours, or there is nothing to write: this waits for no other session.
        RETURN QUERY
        SELECT f.verdict, (f.shown).asked, f.shown, f.clock, v_left.place
        FROM {renew}(p_prefix, v_left.name, v_left.uuid, v_left.n) AS f;
    END LOOP;
END
$dlock$;
