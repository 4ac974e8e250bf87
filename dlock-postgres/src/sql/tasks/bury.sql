-- Put into both branches of claim.sql: ends the tasks of v_over, which no worker runs any more.
--
-- Those that die are answered without a token, for the log of the process that claims: no worker reports them.
RETURN QUERY
SELECT t.id, NULL::bigint, t.queue, t.kind, NULL::json, t.attempt, t.max_attempts, NULL::json, t.priority, t.run_at, false,
    NULL::bigint, NULL::bigint, 0
FROM unnest((SELECT v_over)) AS p (id) JOIN {task} AS t ON t.id = ANY (ARRAY[p.id])
WHERE (t.asked AND NOT t.released) IS NOT TRUE;
PERFORM {move}(
    t.id, CASE WHEN t.asked AND NOT t.released THEN 'cancelled' ELSE 'dead' END, NULL, NULL,
    CASE WHEN NOT t.released AND NOT t.asked THEN {silence}(t.owner) END)
FROM unnest((SELECT v_over)) AS p (id) JOIN {task} AS t ON t.id = ANY (ARRAY[p.id]);
