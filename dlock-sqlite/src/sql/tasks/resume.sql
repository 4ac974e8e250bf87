-- Resumes a queue. ?1 queue.
DELETE FROM dlock_task_paused WHERE queue = ?1;
