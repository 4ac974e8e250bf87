-- Moves a task to those that have ended.
-- Parameters: its number; the state; its output or null; the token of the claim whose own ending it is, or null;
-- what went wrong in its last attempt, or null.
-- Result: none. The caller has locked the row.
CREATE OR REPLACE FUNCTION {move}(
    p_id bigint, p_state pg_catalog.text, p_output pg_catalog.json, p_ending bigint, p_error pg_catalog.text
) RETURNS void LANGUAGE plpgsql AS $dlock$
BEGIN
    WITH gone AS (
        DELETE FROM {task} AS t WHERE t.id = p_id RETURNING t.*
    )
    INSERT INTO {done} (
        id, queue, priority, run_at, attempt, max_attempts, kind, key, payload, errors, created, checkpoint, token,
        state, output, ending, ended)
    SELECT
        t.id, t.queue, t.priority, t.run_at, t.attempt, t.max_attempts, t.kind, t.key, t.payload,
        CASE WHEN p_error IS NULL THEN t.errors ELSE {failed}(t.errors, t.attempt, clock_timestamp(), p_error) END,
        t.created, t.checkpoint, t.token, p_state, p_output, p_ending, clock_timestamp()
    FROM gone AS t;
END
$dlock$;
