-- Enqueues a task that has ended once more: one that succeeded as a copy, others under their number. Their token stays,
-- so that the next one is larger.
-- Parameters: the task.
-- Result: one row: the number of the task that is in the queue, null if no task has ended under the given one; whether
-- it was added now, or has its key.
CREATE OR REPLACE FUNCTION {retry}(p_id bigint, OUT number bigint, OUT is_new boolean)
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET lock_timeout = '2s'
SET plan_cache_mode = force_generic_plan AS $dlock$
DECLARE
    v_done {done};
    v_now timestamptz := clock_timestamp();
BEGIN
    FOR round IN 1..5 LOOP
        SELECT d.* INTO v_done FROM {done} AS d WHERE d.id = p_id FOR UPDATE;
        IF NOT FOUND THEN
            RETURN;
        END IF;
        IF v_done.state = 'succeeded' THEN
            INSERT INTO {task} AS t (
                queue, priority, run_at, attempt, max_attempts, kind, key, key_until_start, lane, payload, errors,
                created, checkpoints, token)
            VALUES (
                v_done.queue, v_done.priority, v_now, 0, v_done.max_attempts, v_done.kind, v_done.key,
                v_done.key_until_start, v_done.lane, v_done.payload, '[]', v_now, 0, 0)
            ON CONFLICT (queue, key) WHERE key IS NOT NULL DO NOTHING
            RETURNING t.id INTO number;
        ELSE
            INSERT INTO {task} AS t (
                id, queue, priority, run_at, attempt, max_attempts, kind, key, key_until_start, lane, payload,
                errors, created, checkpoint, checkpoints, token)
            OVERRIDING SYSTEM VALUE
            VALUES (
                v_done.id, v_done.queue, v_done.priority, v_now, 0, v_done.max_attempts, v_done.kind, v_done.key,
                v_done.key_until_start, v_done.lane, v_done.payload, v_done.errors, v_done.created,
                v_done.checkpoint, 0, v_done.token)
            ON CONFLICT (queue, key) WHERE key IS NOT NULL DO NOTHING
            RETURNING t.id INTO number;
        END IF;
        IF FOUND THEN
            is_new := true;
            PERFORM {tell}(ARRAY[v_done.queue]);
            IF v_done.state <> 'succeeded' THEN
                DELETE FROM {done} AS d WHERE d.id = p_id;
            END IF;
            RETURN;
        END IF;

        SELECT t.id, false INTO number, is_new FROM {task} AS t WHERE t.queue = v_done.queue AND t.key = v_done.key;
        IF FOUND THEN
            RETURN;
        END IF;
    END LOOP;
    RAISE EXCEPTION 'the key of this task comes and goes' USING ERRCODE = 'serialization_failure';
END
$dlock$;
