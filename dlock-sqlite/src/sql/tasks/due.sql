-- Tasks that are due and may be free: what their clock says is for the caller to judge.
-- ?1 queue, ?2 priority, ?3 now as unix time. Result: in the order that tasks/row.rs reads.
SELECT uuid, renewals, owner, since, token, duration, released, asked, NULL, boot, expiry,
       id, queue, priority, run_at, attempt, max_attempts, kind, key, payload, errors, created, checkpoint, checkpoints
FROM dlock_task
WHERE queue = ?1 AND priority = ?2 AND run_at <= ?3
ORDER BY run_at, id;
