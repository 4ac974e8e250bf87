-- Removes all claims of a queue. ?1 queue. Result: none.
DELETE FROM dlock_task_slot WHERE queue = ?1;
