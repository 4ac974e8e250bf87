-- Whether a queue has a limit. ?1 queue.
SELECT EXISTS (SELECT 1 FROM dlock_task_limit WHERE queue = ?1);
