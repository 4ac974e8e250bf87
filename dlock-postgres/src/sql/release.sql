-- Releases a term (L1 to L3).
-- Parameters: prefix; name; the term's uuid; the text for the listeners, or null.
-- Result: one row: verdict, the record shown, the store's clock. The verdict is
--   'released'  L1, L2; of the record only its mark counts
--   'not held'  L3, and the record that shows it
--   'absent'    L3: there is no record
--   'unsound'   the row is no record; nothing was written
--   'open'      other sessions were faster, three times: no answer
CREATE OR REPLACE FUNCTION {release}(
    p_prefix pg_catalog.text, p_name pg_catalog.text, p_uuid pg_catalog.uuid, p_hint pg_catalog.text,
    OUT verdict pg_catalog.text, OUT shown {table}, OUT clock pg_catalog.timestamptz
) LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET lock_timeout = '2s'
SET plan_cache_mode = force_generic_plan AS $dlock$
BEGIN
    -- No wait for the disk: a release that a crash undoes leaves a lease that runs out.
    PERFORM set_config('synchronous_commit', 'off', true);

    FOR round IN 1..3 LOOP
        UPDATE {table} AS l SET released = true
        WHERE l.prefix = p_prefix AND l.name = p_name AND l.uuid = p_uuid AND NOT l.released AND {sound}(l)
        RETURNING l.wanted INTO shown.wanted;
        IF FOUND THEN
            -- N3. A mark that is written before this is committed waits for the commit, and finds the lock free.
            IF p_hint IS NOT NULL AND shown.wanted <> 0 THEN
                -- Listeners receive it once this is committed, so a waiter that tries then finds the lock free. It
                -- takes a lock on the whole database until then; without a wait for the disk that is short.
                PERFORM pg_notify('{channel}', p_hint);
            END IF;
            verdict := 'released';  -- L1
            RETURN;
        END IF;

        clock := clock_timestamp();
        SELECT l.* INTO shown FROM {table} AS l WHERE l.prefix = p_prefix AND l.name = p_name;
        verdict := CASE
            WHEN NOT FOUND THEN 'absent'
            WHEN NOT {sound}(shown) THEN 'unsound'
            WHEN shown.uuid <> p_uuid THEN 'not held'
            WHEN shown.released THEN 'released'  -- L2
            ELSE 'open'  -- fits L1: no answer, try again
        END;
        IF verdict <> 'open' THEN
            RETURN;
        END IF;
    END LOOP;
END
$dlock$;
