-- Put into both walks of claim.sql, as a table.
--
-- Where a walk begins: the queues and priorities in the order of the walk, and the instant and number after which it
-- looks. A walk for late tasks begins at v_since, and skips the queues and priorities that were already walked from
-- there.
SELECT s.queue, s.priority, least(s.start, v_since) AS start, s.number
FROM (
    SELECT
        q.queue, p.priority, q.place,
        CASE
            WHEN v_is_sweep OR q.queue = ANY (v_limited)
                OR p_instants[q.place * 10 + p.priority - 9] IS NULL THEN '-infinity'
            ELSE to_timestamp(0) + interval '1 microsecond'
                * p_instants[q.place * 10 + p.priority - 9]::double precision
        END AS start,
        CASE WHEN v_is_sweep THEN 0 ELSE coalesce(p_numbers[q.place * 10 + p.priority - 9], 0) END AS number
    FROM unnest((SELECT p_queues)) WITH ORDINALITY AS q (queue, place)
        CROSS JOIN generate_series(0, 9) AS p (priority)
    WHERE q.queue <> ALL (v_closed)
) AS s
WHERE v_since IS NULL OR s.start > v_since
ORDER BY s.place, s.priority
OFFSET 0
