-- Makes tasks due that may run at once, whatever the clock said when they were enqueued. ?1 queue, ?2 a second from now
-- as unix time, ?3 now as unix time. Result: none.
UPDATE dlock_task SET run_at = ?3
WHERE queue = ?1 AND run_at = created AND behind = 0 AND run_at > ?2;
