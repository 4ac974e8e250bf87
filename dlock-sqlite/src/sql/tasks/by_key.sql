-- The task of this key that has not ended. ?1 queue, ?2 key. Result: its id.
SELECT id FROM dlock_task WHERE queue = ?1 AND key = ?2;
