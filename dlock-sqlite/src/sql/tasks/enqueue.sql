-- Adds a task unless one of its key has not ended.
-- ?1 queue, ?2 priority, ?3 run_at, ?4 max_attempts, ?5 kind, ?6 key, ?7 payload, ?8 created, ?9 lane,
-- ?10 whether the key ends with the start of the task.
-- Result: its id, or no row.
INSERT INTO dlock_task
    (queue, priority, run_at, attempt, max_attempts, kind, key, key_until_start, lane, payload, errors, created, checkpoints, token)
-- A conflict would use up a number.
SELECT ?1, ?2, ?3, 0, ?4, ?5, ?6, ?10, ?9, ?7, '[]', ?8, 0, 0
WHERE NOT EXISTS (SELECT 1 FROM dlock_task WHERE queue = ?1 AND key = ?6)
ON CONFLICT (queue, key) WHERE key IS NOT NULL DO NOTHING
RETURNING id;
