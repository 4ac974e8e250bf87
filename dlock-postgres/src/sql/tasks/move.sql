-- Moves a task to those that have ended, and notifies those who may wait for it: others of its lane, or of a queue with
-- a limit.
-- Parameters: its number; the state; its output or null; the token of the claim whose own ending it is, or null; the
-- error of its last attempt, or null.
-- Result: none. The caller has locked the row.
CREATE OR REPLACE FUNCTION {move}(
    p_id bigint, p_state pg_catalog.text, p_output pg_catalog.json, p_ending bigint, p_error pg_catalog.text
) RETURNS void LANGUAGE plpgsql AS $dlock$
DECLARE
    v_queue text := (
        SELECT t.queue FROM {task} AS t
        WHERE t.id = p_id
            AND (t.lane IS NOT NULL OR EXISTS (SELECT FROM {limit} AS l WHERE l.queue = t.queue)));
BEGIN
    IF v_queue IS NOT NULL THEN
        PERFORM {tell}(ARRAY[v_queue]);
    END IF;
    WITH gone AS (
        DELETE FROM {task} AS t WHERE t.id = p_id RETURNING t.*
    )
    INSERT INTO {done} (
        id, queue, priority, run_at, attempt, max_attempts, kind, key, key_until_start, lane, payload, errors,
        created, checkpoint, token, state, output, ending, ended)
    SELECT
        t.id, t.queue, t.priority, t.run_at, t.attempt, t.max_attempts, t.kind, t.key, t.key_until_start, t.lane,
        t.payload,
        CASE
            WHEN p_error IS NULL THEN t.errors
            -- Without its own ending: its worker died.
            ELSE {failed}(t.errors, t.attempt, clock_timestamp(), p_error,
                CASE WHEN p_ending IS NULL THEN {lost}(t.errors, t.attempt - 1) + 1 ELSE 0 END)
        END,
        t.created, t.checkpoint, t.token, p_state, p_output, p_ending, clock_timestamp()
    FROM gone AS t;
END
$dlock$;
