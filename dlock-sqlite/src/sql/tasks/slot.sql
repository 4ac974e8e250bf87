-- Records a claim of a queue with a limit. ?1 queue, ?2 id, ?3 token. Result: none; one row
-- changes.
INSERT INTO dlock_task_slot (queue, id, token) VALUES (?1, ?2, ?3) ON CONFLICT (queue, id) DO UPDATE SET token = excluded.token;
