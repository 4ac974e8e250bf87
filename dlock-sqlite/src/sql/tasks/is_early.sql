-- Whether a task that may run at once was enqueued by a clock that was ahead. ?1 queue, ?2 a second from now as unix time.
SELECT EXISTS (
    SELECT 1 FROM dlock_task WHERE queue = ?1 AND run_at = created AND behind = 0 AND run_at > ?2);
