-- Put into both walks of claim.sql, as a table.
--
-- Where a walk begins: the queues and priorities, the first to look through first, and the instant and number after which
-- it looks.
SELECT
    q.queue, p.priority,
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
ORDER BY q.place, p.priority
OFFSET 0
