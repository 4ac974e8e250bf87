-- Removes a task that has ended. ?1 id. Result: none; one row changes.
DELETE FROM dlock_task WHERE id = ?1;
