-- Cancels a task, or asks its worker to stop (B3).
-- Parameters: the task; whether it ends although a worker has it.
-- Result: one row: the state it was in, null if there is no such task.
CREATE OR REPLACE FUNCTION {cancel}(p_id bigint, p_force boolean, OUT state pg_catalog.text)
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET lock_timeout = '2s'
SET plan_cache_mode = force_generic_plan AS $dlock$
DECLARE
    v_task {task};
BEGIN
    FOR round IN 1..3 LOOP
        SELECT t.* INTO v_task FROM {task} AS t WHERE t.id = p_id FOR UPDATE;
        IF FOUND THEN
            state := {state}(v_task, clock_timestamp());
            IF state = 'running' AND NOT p_force THEN
                UPDATE {task} AS t SET asked = true WHERE t.id = p_id;
            ELSE
                PERFORM {move}(p_id, 'cancelled', NULL, NULL, NULL);
            END IF;
            RETURN;
        END IF;

        SELECT d.state INTO state FROM {done} AS d WHERE d.id = p_id;
        IF FOUND THEN
            RETURN;
        END IF;
    END LOOP;
END
$dlock$;
