-- Endings and checkpoints in a user's transaction. A claim that has ended raises an error of the code LK001, whose
-- detail is the state of the task, 'gone' if it does not exist: so the transaction cannot commit.
CREATE OR REPLACE FUNCTION {stale}(p_id bigint, p_token bigint, p_state pg_catalog.text) RETURNS void
LANGUAGE plpgsql AS $dlock$
BEGIN
    RAISE EXCEPTION USING
        ERRCODE = 'LK001',
        MESSAGE = pg_catalog.format(
            'the claim of task %s with token %s has ended, so its work must not be kept: %s', p_id, p_token,
            coalesce(pg_catalog.concat('the task is ', p_state), 'there is no such task')),
        DETAIL = coalesce(p_state, 'gone');
END
$dlock$;

-- Completes a task.
-- Parameters: the task; the claim's uuid; its token; the output as JSON.
-- Result: none.
CREATE OR REPLACE FUNCTION {complete}(p_id bigint, p_uuid pg_catalog.uuid, p_token bigint, p_output pg_catalog.text)
RETURNS void LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $dlock$
DECLARE
    v_ended record;
BEGIN
    SELECT e.own, e.state INTO v_ended FROM {end}(p_id, p_uuid, p_token, 'complete', p_output, NULL, NULL) AS e;
    IF (v_ended.own AND v_ended.state = 'succeeded') IS NOT TRUE THEN
        PERFORM {stale}(p_id, p_token, coalesce(
            (SELECT {state}(t, clock_timestamp()) FROM {task} AS t WHERE t.id = p_id), v_ended.state));
    END IF;
END
$dlock$;

-- Stores a checkpoint for the next attempt.
-- Parameters: those of checkpoint.sql.
-- Result: none.
CREATE OR REPLACE FUNCTION {checkpoint_strictly}(
    p_id bigint, p_uuid pg_catalog.uuid, p_token bigint, p_number bigint, p_checkpoint pg_catalog.text
) RETURNS void LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $dlock$
DECLARE
    v_answer record;
BEGIN
    SELECT c.kept, c.state INTO v_answer FROM {checkpoint}(p_id, p_uuid, p_token, p_number, p_checkpoint) AS c;
    IF v_answer.kept IS NOT TRUE THEN
        PERFORM {stale}(p_id, p_token, v_answer.state);
    END IF;
END
$dlock$;
