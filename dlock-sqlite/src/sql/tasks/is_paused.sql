-- Whether a queue is paused. ?1 queue.
SELECT EXISTS (SELECT 1 FROM dlock_task_paused WHERE queue = ?1);
