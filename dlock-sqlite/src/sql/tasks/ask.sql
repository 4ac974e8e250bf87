-- Asks a worker to stop (B3). ?1 id. Result: none; one row changes.
UPDATE dlock_task SET asked = 1 WHERE id = ?1;
