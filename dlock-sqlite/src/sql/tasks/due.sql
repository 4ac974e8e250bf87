-- Tasks that are due and may be free: the caller judges what their clock says. Large columns are left out.
-- ?1 queue, ?2 priority, ?3 now as unix time, ?4 the kinds as a JSON array, null for any: tasks of other kinds are
-- found only if they are to end, whichever claim finds them. Result: in the order that tasks/row.rs reads a seat, then
-- lane and run_at.
SELECT uuid, renewals, owner, since, token, duration, released, asked, NULL, boot, expiry,
       id, attempt, max_attempts, lane, run_at
FROM dlock_task
WHERE queue = ?1 AND priority = ?2 AND run_at <= ?3 AND behind = 0
    AND (?4 IS NULL OR kind IN (SELECT value FROM json_each(?4))
        OR attempt >= max_attempts OR uuid IS NOT NULL AND asked AND NOT released)
ORDER BY run_at, id;
