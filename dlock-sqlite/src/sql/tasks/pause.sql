-- Pauses a queue; one that is paused stays as it is. ?1 queue, ?2 now, as unix time in microseconds.
INSERT INTO dlock_task_paused (queue, since) VALUES (?1, ?2) ON CONFLICT (queue) DO NOTHING;
