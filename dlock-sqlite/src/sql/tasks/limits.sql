-- The queues that have a limit, and the most tasks of each that run at a time.
SELECT queue, most FROM dlock_task_limit ORDER BY queue;
