-- Removes the claims of a queue that have ended. ?1 queue. Result: none.
DELETE FROM dlock_task_slot AS s
WHERE s.queue = ?1
    AND NOT EXISTS (SELECT 1 FROM dlock_task AS t WHERE t.id = s.id AND t.token = s.token AND t.released = 0);
