-- Stores a checkpoint for the next attempt. It extends no lease.
-- Parameters: the task; the claim's uuid; its token; the number of this checkpoint; the checkpoint as JSON.
-- Result: one row: whether it is kept, or a newer one of this claim; if not, the state of the task, null if it does not
-- exist.
CREATE OR REPLACE FUNCTION {checkpoint}(
    p_id bigint, p_uuid pg_catalog.uuid, p_token bigint, p_number bigint, p_checkpoint pg_catalog.text,
    OUT kept boolean, OUT state pg_catalog.text
) LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET lock_timeout = '2s'
SET plan_cache_mode = force_generic_plan AS $dlock$
DECLARE
    v_task {task};
BEGIN
    FOR round IN 1..3 LOOP
        SELECT t.* INTO v_task FROM {task} AS t WHERE t.id = p_id FOR UPDATE;
        IF FOUND THEN
            state := {state}(v_task, clock_timestamp());
            kept := state = 'running' AND v_task.uuid = p_uuid AND v_task.token = p_token;
            IF kept AND p_number > v_task.checkpoints THEN
                UPDATE {task} AS t SET checkpoints = p_number, checkpoint = p_checkpoint::json WHERE t.id = p_id;
            END IF;
            RETURN;
        END IF;

        kept := false;
        SELECT d.state INTO state FROM {done} AS d WHERE d.id = p_id;
        IF FOUND THEN
            RETURN;
        END IF;
    END LOOP;
END
$dlock$;
