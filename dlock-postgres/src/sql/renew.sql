-- Extends a term by the lease in its record (R1 to R3).
-- Parameters: prefix; name; the term's uuid; the number of this renewal.
-- Result: one row: verdict, the record shown, the store's clock. The verdict is
--   'renewed'  R1, R2; of the record only whether a client asked for the lock counts
--   'lost'     R3, and the record that shows it
--   'absent'   R3: there is no record
--   'unsound'  the row is no record; nothing was written
--   'unfit'    the number of this renewal is 2^53 or more (T2); nothing was written
--   'open'     other sessions were faster, three times: no answer
CREATE OR REPLACE FUNCTION {renew}(
    p_prefix pg_catalog.text, p_name pg_catalog.text, p_uuid pg_catalog.uuid, p_n bigint,
    OUT verdict pg_catalog.text, OUT shown {table}, OUT clock pg_catalog.timestamptz
) LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET lock_timeout = '2s'
SET plan_cache_mode = force_generic_plan AS $dlock$
BEGIN
    -- A renewal that a crash can undo does not count.
    IF current_setting('synchronous_commit') = 'off' THEN
        PERFORM set_config('synchronous_commit', 'on', true);
    END IF;

    FOR round IN 1..3 LOOP
        -- Both readings of the clock are repeated after a wait for the row if it changed meanwhile.
        UPDATE {table} AS l SET
            renewals = p_n, expiry = clock_timestamp() + l.duration::double precision * interval '1 millisecond'
        WHERE l.prefix = p_prefix AND l.name = p_name AND l.uuid = p_uuid AND NOT l.released
            AND l.renewals < p_n AND p_n <= 9007199254740991 AND l.expiry > clock_timestamp() AND {sound}(l)
        RETURNING l.asked INTO shown.asked;
        IF FOUND THEN
            verdict := 'renewed';  -- R1
            RETURN;
        END IF;

        -- The clock first: a record that had expired by it had expired when it was read.
        clock := clock_timestamp();
        SELECT l.* INTO shown FROM {table} AS l WHERE l.prefix = p_prefix AND l.name = p_name;
        verdict := CASE
            WHEN NOT FOUND THEN 'absent'
            WHEN NOT {sound}(shown) THEN 'unsound'
            WHEN shown.uuid <> p_uuid OR shown.released THEN 'lost'
            WHEN shown.renewals >= p_n THEN 'renewed'  -- R2
            WHEN shown.expiry <= clock THEN 'lost'
            WHEN p_n > 9007199254740991 THEN 'unfit'
            ELSE 'open'  -- fits R1: no answer, try again
        END;
        IF verdict <> 'open' THEN
            RETURN;
        END IF;
    END LOOP;
END
$dlock$;
