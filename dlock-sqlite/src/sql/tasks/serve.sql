-- Records that an instant of a schedule was served. ?1 name, ?2 instant.
INSERT INTO dlock_task_schedule (name, last) VALUES (?1, ?2)
ON CONFLICT (name) DO UPDATE SET last = excluded.last;
