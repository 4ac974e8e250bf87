-- What any driver can call, in any transaction.

-- Enqueues a task.
-- Parameters: the queue; which handler it is for; what the handler gets; 0 to 9, smaller numbers first; from when
-- on it may run, null for at once; a key that at most one task of the queue has that has not ended; how often it is
-- tried; a lane, of whose tasks in the queue one runs at a time.
-- Result: its number, or that of the task that has this key.
CREATE OR REPLACE FUNCTION {schema}.dlock_enqueue(
    queue pg_catalog.text, kind pg_catalog.text, payload pg_catalog.jsonb DEFAULT 'null', priority integer DEFAULT 5,
    run_at pg_catalog.timestamptz DEFAULT NULL, key pg_catalog.text DEFAULT NULL, max_attempts integer DEFAULT 20,
    lane pg_catalog.text DEFAULT NULL
) RETURNS bigint LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $dlock$
DECLARE
    v_payload text := coalesce(payload, 'null')::text;
    v_trouble text := CASE
        WHEN (octet_length(queue) BETWEEN 1 AND 128) IS NOT TRUE THEN 'the name of a queue is 1 to 128 bytes'
        WHEN (octet_length(kind) BETWEEN 1 AND 128) IS NOT TRUE THEN 'the kind of a task is 1 to 128 bytes'
        WHEN octet_length(key) NOT BETWEEN 1 AND 256 THEN 'the key of a task is 1 to 256 bytes'
        WHEN octet_length(lane) NOT BETWEEN 1 AND 256 THEN 'the lane of a task is 1 to 256 bytes'
        WHEN (priority BETWEEN 0 AND 9) IS NOT TRUE THEN 'the priority of a task is 0, which runs first, to 9'
        WHEN (max_attempts BETWEEN 1 AND 1000) IS NOT TRUE THEN '1 to 1000 attempts are possible'
        WHEN octet_length(v_payload) > 262144
            THEN 'the payload of a task is at most 262144 bytes of JSON: put it elsewhere, and its place here'
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
            ARRAY[max_attempts], ARRAY[kind], ARRAY[key], ARRAY[lane], ARRAY[v_payload]) AS e);
END
$dlock$;

-- Completes a task in the transaction that keeps what its handler has done. If the claim is over it raises an
-- error of the code LK001: the transaction has to be rolled back, and cannot commit.
-- Parameters: the task; the claim's uuid; its token; the output.
-- Result: none.
CREATE OR REPLACE FUNCTION {schema}.dlock_complete(
    task bigint, claim pg_catalog.uuid, token bigint, output pg_catalog.jsonb DEFAULT 'null'
) RETURNS void LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $dlock$
BEGIN
    PERFORM {complete}(task, claim, token, coalesce(output, 'null')::text);
END
$dlock$;
