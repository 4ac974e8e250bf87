-- Limits how many tasks of a queue run at a time. ?1 queue, ?2 how many. Result: none.
INSERT INTO dlock_task_limit (queue, most) VALUES (?1, ?2) ON CONFLICT (queue) DO UPDATE SET most = excluded.most;
