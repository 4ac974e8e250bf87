-- The queues that have a limit, and how many of their tasks run at a time at most.
SELECT queue, most FROM dlock_task_limit ORDER BY queue;
