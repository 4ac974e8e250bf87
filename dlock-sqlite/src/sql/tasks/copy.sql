-- Enqueues a copy of a task that has ended. ?1 id, ?2 now as unix time.
-- Result: the copy's id, or no row if its key is in use.
INSERT INTO dlock_task
    (queue, priority, run_at, attempt, max_attempts, kind, key, key_until_start, lane, payload, errors, created, checkpoints, token)
SELECT queue, priority, ?2, 0, max_attempts, kind, key, key_until_start, lane, payload, '[]', ?2, 0, 0
FROM dlock_task_done AS d
-- A conflict would use up a number.
WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM dlock_task AS t WHERE t.queue = d.queue AND t.key = d.key)
ON CONFLICT (queue, key) WHERE key IS NOT NULL DO NOTHING
RETURNING id;
