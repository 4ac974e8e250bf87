-- Takes a term away from its holder without granting it (B1).
-- Parameters: prefix; name; the uuid and the renewals that were read; the uuid that replaces them.
-- Result: one row: verdict, the record shown, the store's clock. The verdict is
--   'revoked'  now or earlier
--   'changed'  the record is no longer as it was read; nothing was written
--   'absent'   there is no record
--   'unsound'  the row is no record; nothing was written
--   'open'     other sessions were faster, three times: no answer
CREATE OR REPLACE FUNCTION {revoke}(
    p_prefix pg_catalog.text, p_name pg_catalog.text, p_uuid pg_catalog.uuid, p_renewals bigint, p_new pg_catalog.uuid,
    OUT verdict pg_catalog.text, OUT shown {table}, OUT clock pg_catalog.timestamptz
) LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET lock_timeout = '2s'
SET plan_cache_mode = force_generic_plan AS $dlock$
BEGIN
    FOR round IN 1..3 LOOP
        UPDATE {table} AS l SET uuid = p_new, renewals = 0
        WHERE l.prefix = p_prefix AND l.name = p_name AND NOT l.released
            AND l.uuid = p_uuid AND l.renewals = p_renewals AND {sound}(l);
        IF FOUND THEN
            verdict := 'revoked';
            RETURN;
        END IF;

        clock := clock_timestamp();
        SELECT l.* INTO shown FROM {table} AS l WHERE l.prefix = p_prefix AND l.name = p_name;
        verdict := CASE
            WHEN NOT FOUND THEN 'absent'
            WHEN NOT {sound}(shown) THEN 'unsound'
            WHEN shown.released THEN 'changed'
            WHEN shown.uuid = p_uuid AND shown.renewals = p_renewals THEN 'open'
            WHEN shown.uuid = p_new THEN 'revoked'
            ELSE 'changed'
        END;
        IF verdict <> 'open' THEN
            RETURN;
        END IF;
    END LOOP;
END
$dlock$;
