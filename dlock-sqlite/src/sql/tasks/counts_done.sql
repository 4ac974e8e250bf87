-- How many tasks have ended, by state. Result: queue, state, how many.
SELECT queue, state, count(*) FROM dlock_task_done GROUP BY 1, 2;
