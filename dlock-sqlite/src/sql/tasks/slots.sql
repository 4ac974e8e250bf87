-- The claims that hold a place of a queue with a limit unless their leases have run out. ?1 queue.
-- Result: in the order that tasks/row.rs reads a seat.
SELECT t.uuid, t.renewals, t.owner, t.since, t.token, t.duration, t.released, t.asked, NULL, t.boot, t.expiry,
       t.id, t.attempt, t.max_attempts
FROM dlock_task_slot AS s JOIN dlock_task AS t ON t.id = s.id AND t.token = s.token
WHERE s.queue = ?1 AND t.released = 0;
