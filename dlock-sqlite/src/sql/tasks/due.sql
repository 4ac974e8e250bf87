-- Tasks that are due and may be free: what their clock says is for the caller to judge. Without what is large.
-- ?1 queue, ?2 priority, ?3 now as unix time. Result: in the order that tasks/row.rs reads a seat.
SELECT uuid, renewals, owner, since, token, duration, released, asked, NULL, boot, expiry,
       id, attempt, max_attempts
FROM dlock_task
WHERE queue = ?1 AND priority = ?2 AND run_at <= ?3
ORDER BY run_at, id;
