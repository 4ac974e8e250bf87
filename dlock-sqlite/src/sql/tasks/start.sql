-- Removes the key of a task that starts, if its key ends then. ?1 id. Result: none.
UPDATE dlock_task SET key = NULL WHERE id = ?1 AND key_until_start;
