-- Removes the limit of a queue. ?1 queue. Result: none.
DELETE FROM dlock_task_limit WHERE queue = ?1;
