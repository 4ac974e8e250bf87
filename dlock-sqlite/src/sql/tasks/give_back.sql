-- Ends a term (L1) and leaves the task to other workers. ?1 id, ?2 run_at, ?3 attempt, ?4 errors, ?5 the outcome.
-- Result: none; one row changes.
UPDATE dlock_task SET released = 1, run_at = ?2, attempt = ?3, errors = ?4, ending = token, became = ?5 WHERE id = ?1;
