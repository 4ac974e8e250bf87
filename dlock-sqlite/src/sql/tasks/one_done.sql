-- A task that has ended. ?1 id. Result: at most one row, in the order that tasks/show.rs reads.
SELECT id, queue, priority, run_at, attempt, max_attempts, kind, key, payload, errors, created, checkpoint, state, output, ended,
       lane
FROM dlock_task_done
WHERE id = ?1;
