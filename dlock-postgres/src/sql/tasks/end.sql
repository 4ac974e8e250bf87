-- Ends a claim.
-- Parameters: the task; the claim's uuid; its token; how: 'complete', 'fail', 'discard', 'give back', 'snooze' or
-- 'release', which gives it back too;
-- the output of a completion as JSON; the error of a failure; in how many microseconds the task is due again, null to
-- keep its time.
-- Result: whether the claim has ended by its own ending, now or earlier; the outcome of the task then, or its state
-- now, null if it does not exist.
CREATE OR REPLACE FUNCTION {end}(
    p_id bigint, p_uuid pg_catalog.uuid, p_token bigint, p_how pg_catalog.text, p_output pg_catalog.text,
    p_error pg_catalog.text, p_delay bigint, OUT own boolean, OUT state pg_catalog.text
) LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET lock_timeout = '2s'
SET plan_cache_mode = force_generic_plan AS $dlock$
DECLARE
    v_task {task};
    v_now timestamptz;
BEGIN
    -- A task moves from one table to the other, and back: three reads find it.
    FOR round IN 1..3 LOOP
        SELECT t.* INTO v_task FROM {task} AS t
        WHERE t.id = p_id AND t.uuid = p_uuid AND t.token = p_token
        FOR UPDATE;
        IF FOUND THEN
            own := true;
            v_now := clock_timestamp();
            IF v_task.released THEN
                state := v_task.became;  -- A repeat.
            ELSIF p_how = 'complete' THEN
                state := 'succeeded';
                PERFORM {move}(p_id, state, p_output::json, p_token, NULL);
            ELSIF v_task.asked THEN
                state := 'cancelled';  -- No attempt comes after this one.
                PERFORM {move}(p_id, state, NULL, p_token, NULL);
            ELSIF p_how = 'discard' OR p_how = 'fail' AND v_task.attempt >= v_task.max_attempts THEN
                state := 'dead';
                PERFORM {move}(p_id, state, NULL, p_token, p_error);
            ELSE
                state := CASE WHEN p_delay > 0 THEN 'scheduled' ELSE 'ready' END;
                UPDATE {task} AS t SET
                    released = true, ending = p_token, became = state,
                    run_at = coalesce(v_now + p_delay::double precision * interval '1 microsecond', t.run_at),
                    attempt = CASE p_how WHEN 'fail' THEN t.attempt ELSE greatest(t.attempt - 1, 0) END,
                    errors = CASE p_how
                        WHEN 'fail' THEN {failed}(t.errors, t.attempt, v_now, p_error, 0)
                        -- The handler has answered, so no attempt was lost right before the next one.
                        WHEN 'snooze' THEN CASE
                            WHEN jsonb_typeof(t.errors) = 'array' THEN jsonb_set(t.errors, '{-1,lost}', '0', false)
                            ELSE t.errors
                        END
                        ELSE t.errors
                    END
                WHERE t.id = p_id;
                PERFORM {tell}(ARRAY[v_task.queue]);
            END IF;
            RETURN;
        END IF;

        SELECT d.state, coalesce(d.ending = p_token, false) INTO state, own FROM {done} AS d WHERE d.id = p_id;
        IF FOUND THEN
            RETURN;  -- The task has ended.
        END IF;
        -- A lock that is released again while another client has it is not held.
        SELECT
            o.own, CASE WHEN o.own THEN t.became ELSE {state}(t, clock_timestamp()) END
        INTO own, state
        FROM {task} AS t CROSS JOIN LATERAL (
            SELECT coalesce(t.ending = p_token AND t.token <> p_token AND p_how <> 'release', false) AS own
        ) AS o
        WHERE t.id = p_id;
        IF FOUND THEN
            RETURN;  -- A repeat, or another claim has it.
        END IF;
        own := false;
    END LOOP;
END
$dlock$;
