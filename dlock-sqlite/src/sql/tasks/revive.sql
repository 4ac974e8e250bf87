-- Enqueues a task that has ended again under its number; its token stays, so that the next one is
-- larger.
-- ?1 id, ?2 now as unix time. Result: its id, or no row if its key is in use.
INSERT INTO dlock_task
    (id, queue, priority, run_at, attempt, max_attempts, kind, key, key_until_start, lane, payload, errors, created, checkpoint, checkpoints, token)
SELECT id, queue, priority, ?2, 0, max_attempts, kind, key, key_until_start, lane, payload, errors, created, checkpoint, 0, token
FROM dlock_task_done
WHERE id = ?1
ON CONFLICT (queue, key) WHERE key IS NOT NULL DO NOTHING
RETURNING id;
