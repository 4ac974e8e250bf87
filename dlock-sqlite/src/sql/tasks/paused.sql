-- The queues that are paused, and since when, as unix time in microseconds.
SELECT queue, since FROM dlock_task_paused ORDER BY queue;
