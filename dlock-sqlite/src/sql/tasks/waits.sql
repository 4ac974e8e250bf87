-- The tasks of a lane for which another one of it may wait: those that a worker has, and those that come first.
-- ?1 queue, ?2 lane, ?3 the id of the task, ?4 whether no worker has it, ?5 its priority, ?6 its run_at, ?7 now as unix
-- time.
-- Result: in the order that tasks/row.rs reads a seat, then whether it comes first. A task that a worker has, its lease
-- run out or not, comes before one that no worker has. A task that waits behind another one comes after that one.
SELECT uuid, renewals, owner, since, token, duration, released, asked, NULL, boot, expiry,
       id, attempt, max_attempts, (released IS NOT 0, priority, run_at, id) < (?4, ?5, ?6, ?3)
FROM dlock_task
WHERE queue = ?1 AND lane = ?2 AND behind = 0 AND id <> ?3
    AND (released IS 0 OR run_at <= ?7 AND ?4 AND (priority, run_at, id) < (?5, ?6, ?3))
ORDER BY priority, run_at, id;
