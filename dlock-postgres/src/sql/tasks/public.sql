-- The functions that any driver can call, in any transaction.

-- The reason why workers would misread this JSON, null if they would not: see `json.rs` of dlock-tasks.
CREATE OR REPLACE FUNCTION {unreadable}(p_json pg_catalog.jsonb) RETURNS pg_catalog.text
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET extra_float_digits = 1 AS $dlock$
DECLARE
    v_number numeric;
BEGIN
    IF jsonb_path_exists(p_json, 'strict $.**{100} ? (@.type() == "array" || @.type() == "object")') THEN
        RETURN 'nests more than 100 levels deep';
    END IF;
    FOR v_number IN SELECT n::numeric FROM jsonb_path_query(p_json, 'strict $.** ? (@.type() == "number")') AS n LOOP
        CONTINUE WHEN v_number BETWEEN -9223372036854775808 AND 18446744073709551615 AND scale(v_number) = 0;
        IF v_number <> v_number::double precision::text::numeric THEN
            RETURN format('has the number %s, which would become %s: write it as a text', v_number, v_number::double precision);
        END IF;
    END LOOP;
    RETURN NULL;
EXCEPTION WHEN numeric_value_out_of_range THEN
    RETURN format('has the number %s, which no worker can read: write it as a text', left(v_number::text, 40));
END
$dlock$;

-- Enqueues a task.
-- Parameters: the queue; the kind, which selects its handler; the payload for the handler; the priority, 0 to 9,
-- smaller numbers first; the earliest time to run, null for at once; a key that at most one task of the queue has; the
-- number of attempts; a lane, of whose tasks in the queue one runs at a time; until when it has the key: 'ended', or
-- 'started', by its first claim.
-- Result: its number, or that of the task that has this key.
CREATE OR REPLACE FUNCTION {schema}.dlock_enqueue(
    queue pg_catalog.text, kind pg_catalog.text, payload pg_catalog.jsonb DEFAULT 'null', priority integer DEFAULT 5,
    run_at pg_catalog.timestamptz DEFAULT NULL, key pg_catalog.text DEFAULT NULL, max_attempts integer DEFAULT 20,
    lane pg_catalog.text DEFAULT NULL, key_until pg_catalog.text DEFAULT 'ended'
) RETURNS bigint LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $dlock$
DECLARE
    v_payload text := coalesce(payload, 'null')::text;
    v_trouble text := CASE
        WHEN (octet_length(queue) BETWEEN 1 AND 128) IS NOT TRUE THEN 'the name of a queue is 1 to 128 bytes'
        WHEN (octet_length(kind) BETWEEN 1 AND 128) IS NOT TRUE THEN 'the kind of a task is 1 to 128 bytes'
        WHEN octet_length(key) NOT BETWEEN 1 AND 256 THEN 'the key of a task is 1 to 256 bytes'
        WHEN (key_until IN ('ended', 'started')) IS NOT TRUE THEN 'a task has its key until it has ended or started'
        WHEN octet_length(lane) NOT BETWEEN 1 AND 256 THEN 'the lane of a task is 1 to 256 bytes'
        WHEN (priority BETWEEN 0 AND 9) IS NOT TRUE THEN 'the priority of a task is 0, which runs first, to 9'
        WHEN (max_attempts BETWEEN 1 AND 1000) IS NOT TRUE THEN '1 to 1000 attempts are possible'
        WHEN octet_length(v_payload) > 262144
            THEN 'the payload of a task is at most 262144 bytes of JSON: put it elsewhere, and its place here'
        WHEN {unreadable}(payload) IS NOT NULL THEN 'the payload of a task ' || {unreadable}(payload)
        WHEN run_at > to_timestamp(9007199254) THEN 'a task runs before the year 2255'
    END;
BEGIN
    IF v_trouble IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'invalid_parameter_value', MESSAGE = v_trouble;
    END IF;
    RETURN (
        SELECT e.number
        FROM {enqueue}(
            ARRAY[queue], ARRAY[priority], ARRAY[0::bigint],
            ARRAY[CASE
                WHEN run_at > to_timestamp(0) THEN (extract(epoch FROM run_at) * 1000000)::bigint
                WHEN run_at <= to_timestamp(0) THEN 0
            END],
            ARRAY[max_attempts], ARRAY[kind], ARRAY[key], ARRAY[key_until = 'started'], ARRAY[lane],
            ARRAY[v_payload]) AS e);
END
$dlock$;

-- Completes a task in the transaction that keeps its handler's results. If the claim has ended it raises an error of
-- the code LK001: the transaction has to be rolled back, and cannot commit.
-- Parameters: the task; the claim's uuid; its token; the output.
-- Result: none.
CREATE OR REPLACE FUNCTION {schema}.dlock_complete(
    task bigint, claim pg_catalog.uuid, token bigint, output pg_catalog.jsonb DEFAULT 'null'
) RETURNS void LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $dlock$
DECLARE
    v_trouble text := {unreadable}(output);
BEGIN
    IF v_trouble IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'invalid_parameter_value', MESSAGE = 'the output of a task ' || v_trouble;
    END IF;
    PERFORM {complete}(task, claim, token, coalesce(output, 'null')::text);
END
$dlock$;
