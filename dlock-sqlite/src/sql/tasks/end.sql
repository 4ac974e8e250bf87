-- Keeps a task that ends. ?1 id, ?2 state, ?3 output, ?4 ending, ?5 ended, ?6 errors. Result: none.
INSERT INTO dlock_task_done
    (id, queue, priority, run_at, attempt, max_attempts, kind, key, key_until_start, lane, payload, errors, created, checkpoint, token,
     state, output, ending, ended)
SELECT id, queue, priority, run_at, attempt, max_attempts, kind, key, key_until_start, lane, payload, ?6, created, checkpoint, token,
       ?2, ?3, ?4, ?5
FROM dlock_task
WHERE id = ?1;
