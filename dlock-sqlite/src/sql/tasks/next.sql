-- When the next task falls due. ?1 queue, ?2 priority, ?3 now as unix time. Result: run_at, or null.
SELECT min(run_at) FROM dlock_task WHERE queue = ?1 AND priority = ?2 AND run_at > ?3 AND behind = 0;
