-- How many tasks of each queue are in each state. No parameters.
-- Result: queue, state, how many.
SELECT t.queue, {state}(t, c.now), pg_catalog.count(*)
FROM {task} AS t CROSS JOIN (SELECT pg_catalog.clock_timestamp() AS now) AS c
GROUP BY 1, 2
UNION ALL
SELECT d.queue, d.state, pg_catalog.count(*) FROM {done} AS d GROUP BY 1, 2
