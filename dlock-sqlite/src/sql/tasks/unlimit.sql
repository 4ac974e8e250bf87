-- Takes the limit of a queue away. ?1 queue. Result: none.
DELETE FROM dlock_task_limit WHERE queue = ?1;
