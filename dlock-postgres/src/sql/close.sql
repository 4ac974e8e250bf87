-- Ends a term and leaves the name closed (B4).
-- Parameters: prefix; name; the term's uuid; the closing's uuid; how long it lasts in milliseconds.
-- Result: one row: verdict, the record shown, the store's clock. The verdict is
--   'closed'    now or earlier
--   'not held'  L3, and the record that shows it
--   'absent'    L3: there is no record
--   'unsound'   the row is no record; nothing was written
--   'unfit'     no record can hold the request; nothing was written
--   'open'      other sessions were faster, three times: no answer
CREATE OR REPLACE FUNCTION {close}(
    p_prefix pg_catalog.text, p_name pg_catalog.text, p_uuid pg_catalog.uuid, p_closing pg_catalog.uuid,
    p_lasts bigint,
    OUT verdict pg_catalog.text, OUT shown {table}, OUT clock pg_catalog.timestamptz
) LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET lock_timeout = '2s'
SET plan_cache_mode = force_generic_plan AS $dlock$
BEGIN
    -- A closing that a crash can undo does not count: the lease may run out long before.
    IF current_setting('synchronous_commit') = 'off' THEN
        PERFORM set_config('synchronous_commit', 'on', true);
    END IF;

    IF NOT (p_lasts BETWEEN 100 AND 86400000) THEN
        verdict := 'unfit';
        RETURN;
    END IF;

    FOR round IN 1..3 LOOP
        UPDATE {table} AS l SET
            uuid = p_closing, renewals = 0, duration = p_lasts,
            expiry = clock_timestamp() + p_lasts::double precision * interval '1 millisecond'
        WHERE l.prefix = p_prefix AND l.name = p_name AND l.uuid = p_uuid AND NOT l.released AND {sound}(l);
        IF FOUND THEN
            verdict := 'closed';
            RETURN;
        END IF;

        clock := clock_timestamp();
        SELECT l.* INTO shown FROM {table} AS l WHERE l.prefix = p_prefix AND l.name = p_name;
        verdict := CASE
            WHEN NOT FOUND THEN 'absent'
            WHEN NOT {sound}(shown) THEN 'unsound'
            WHEN shown.released THEN 'not held'
            WHEN shown.uuid = p_closing THEN 'closed'
            WHEN shown.uuid = p_uuid THEN 'open'
            ELSE 'not held'
        END;
        IF verdict <> 'open' THEN
            RETURN;
        END IF;
    END LOOP;
END
$dlock$;
