-- Ended tasks by number. ?1 queue or null, ?2 numbers above, ?3 state or null, ?4 kind or null;
-- tasks/show.rs reverses the order.
-- Result: in the order that tasks/show.rs reads.
SELECT id, queue, priority, run_at, attempt, max_attempts, kind, key, payload, errors, created, checkpoint, state, output, ended,
       lane
FROM dlock_task_done
WHERE id > ?2 AND (?1 IS NULL OR queue = ?1) AND (?3 IS NULL OR state = ?3) AND (?4 IS NULL OR kind = ?4)
ORDER BY id;
