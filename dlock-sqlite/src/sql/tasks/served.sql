-- The newest instant of a schedule that was served, as unix time in microseconds. ?1 name.
SELECT last FROM dlock_task_schedule WHERE name = ?1;
