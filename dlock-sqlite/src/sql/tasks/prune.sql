-- Deletes tasks that ended long ago. ?1 state, ?2 the latest time of their end, ?3 the greatest
-- number of tasks.
DELETE FROM dlock_task_done WHERE id IN
    (SELECT id FROM dlock_task_done WHERE state = ?1 AND ended <= ?2 ORDER BY ended LIMIT ?3);
