-- Asks the holder to release the lock (B3).
-- Parameters: prefix; name; the term's uuid.
-- Result: one row: verdict, the record shown, the store's clock. The verdict is
--   'asked'    now or earlier
--   'changed'  the record is not held by this term; nothing was written
--   'absent'   there is no record
--   'unsound'  the row is no record; nothing was written
--   'open'     other sessions were faster, three times: no answer
CREATE OR REPLACE FUNCTION {ask}(
    p_prefix pg_catalog.text, p_name pg_catalog.text, p_uuid pg_catalog.uuid,
    OUT verdict pg_catalog.text, OUT shown {table}, OUT clock pg_catalog.timestamptz
) LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET lock_timeout = '2s'
SET plan_cache_mode = force_generic_plan AS $dlock$
BEGIN
    FOR round IN 1..3 LOOP
        UPDATE {table} AS l SET asked = true
        WHERE l.prefix = p_prefix AND l.name = p_name AND l.uuid = p_uuid
            AND NOT l.released AND NOT l.asked AND {sound}(l);
        IF FOUND THEN
            verdict := 'asked';
            RETURN;
        END IF;

        clock := clock_timestamp();
        SELECT l.* INTO shown FROM {table} AS l WHERE l.prefix = p_prefix AND l.name = p_name;
        verdict := CASE
            WHEN NOT FOUND THEN 'absent'
            WHEN NOT {sound}(shown) THEN 'unsound'
            WHEN shown.uuid <> p_uuid OR shown.released THEN 'changed'
            WHEN shown.asked THEN 'asked'
            ELSE 'open'
        END;
        IF verdict <> 'open' THEN
            RETURN;
        END IF;
    END LOOP;
END
$dlock$;
