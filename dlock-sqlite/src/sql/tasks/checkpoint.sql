-- Stores a checkpoint for the next attempt. ?1 id, ?2 its number, ?3 JSON. Result: none; one row
-- changes.
UPDATE dlock_task SET checkpoints = ?2, checkpoint = ?3 WHERE id = ?1;
