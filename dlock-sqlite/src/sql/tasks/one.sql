-- A task that has not ended. ?1 id. Result: at most one row, in the order that tasks/row.rs reads.
SELECT uuid, renewals, owner, since, token, duration, released, asked, NULL, boot, expiry,
       id, attempt, max_attempts, queue, priority, run_at, kind, key, payload, errors, created, checkpoint, checkpoints,
       lane, ending, became
FROM dlock_task
WHERE id = ?1;
