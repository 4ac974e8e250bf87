-- Looks for tasks before those at which a process begins its claims, concurrently with them: tasks that a claim from
-- the beginning would give out or end. Locks and changes nothing.
-- Parameters: the queues; after which instants, in microseconds of Unix time, and numbers claims begin, for each queue
-- and priority, null where they begin at the beginning; the kinds, null for any, as claim.sql has them.
-- Result: for each queue and priority that has one, the first such task: the queue, the priority, the instant and the
-- number; then one row without a queue, whose instant is how many microseconds the search took.
CREATE OR REPLACE FUNCTION {before}(
    p_queues pg_catalog.text[], p_instants bigint[], p_numbers bigint[], p_kinds pg_catalog.text[]
) RETURNS TABLE (queue pg_catalog.text, priority integer, instant bigint, number bigint)
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan
SET enable_hashjoin = off SET enable_mergejoin = off SET enable_seqscan = off SET enable_bitmapscan = off
SET jit = off AS $dlock$
#variable_conflict use_column
DECLARE
    v_now timestamptz := clock_timestamp();
    v_paused text[] := ARRAY(SELECT p.queue FROM {paused} AS p WHERE p.queue = ANY (p_queues));
BEGIN
    RETURN QUERY
    SELECT w.queue, w.priority, (extract(epoch FROM f.run_at) * 1000000)::bigint, f.id
    FROM (
        SELECT
            q.queue, p.priority,
            to_timestamp(0) + interval '1 microsecond'
                * p_instants[q.place * 10 + p.priority - 9]::double precision AS start,
            p_numbers[q.place * 10 + p.priority - 9] AS number
        FROM unnest((SELECT p_queues)) WITH ORDINALITY AS q (queue, place)
            CROSS JOIN generate_series(0, 9) AS p (priority)
        WHERE q.queue <> ALL (v_paused) AND p_instants[q.place * 10 + p.priority - 9] IS NOT NULL
        OFFSET 0
    ) AS w CROSS JOIN LATERAL (
        SELECT t.run_at, t.id
        FROM {task} AS t
        WHERE t.queue = w.queue AND t.priority = w.priority AND t.run_at <= w.start AND NOT t.behind
            AND (t.run_at, t.id + 0) <= (w.start, w.number)
            AND (t.uuid IS NULL OR t.released OR t.expiry <= v_now)
            AND (p_kinds IS NULL OR t.kind = ANY (p_kinds)
                OR t.attempt >= t.max_attempts OR t.asked AND NOT t.released)
            AND (t.lane IS NULL OR NOT {waits})
            AND {sound}(t)
        ORDER BY t.run_at, t.id + 0
        LIMIT 1
    ) AS f;
    RETURN QUERY SELECT NULL::text, NULL::integer, (extract(epoch FROM clock_timestamp() - v_now) * 1000000)::bigint, NULL::bigint;
END
$dlock$
