-- The tasks of a claim. ?1 uuid. Result: in the order that tasks/row.rs reads.
SELECT uuid, renewals, owner, since, token, duration, released, asked, NULL, boot, expiry,
       id, attempt, max_attempts, queue, priority, run_at, kind, key, payload, errors, created, checkpoint, checkpoints,
       lane, ending, became
FROM dlock_task
WHERE uuid = ?1 AND released = 0
ORDER BY priority, run_at, id;
