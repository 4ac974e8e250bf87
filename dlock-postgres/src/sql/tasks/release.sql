-- Returns a task to the queue (L1 to L3): the attempt does not count.
-- Parameters: the task; the claim's uuid; its token.
-- Result: one row: whether it was returned, now or earlier; the row of the task, null if it has ended or does not
-- exist; the store's clock.
CREATE OR REPLACE FUNCTION {release}(
    p_id bigint, p_uuid pg_catalog.uuid, p_token bigint,
    OUT own boolean, OUT shown {task}, OUT clock pg_catalog.timestamptz
) LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET lock_timeout = '2s'
SET plan_cache_mode = force_generic_plan AS $dlock$
BEGIN
    -- No wait for the disk: a release that a crash undoes leaves a lease that runs out.
    PERFORM set_config('synchronous_commit', 'off', true);

    SELECT e.own INTO own FROM {end}(p_id, p_uuid, p_token, 'release', NULL, NULL, NULL) AS e;
    IF NOT own THEN
        clock := clock_timestamp();
        SELECT t.* INTO shown FROM {task} AS t WHERE t.id = p_id;
    END IF;
END
$dlock$;
