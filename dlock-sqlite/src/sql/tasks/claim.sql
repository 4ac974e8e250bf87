-- Begins a term (A1, A4, A5) and an attempt: every field of the old term is replaced.
-- ?1 id, ?2 uuid, ?3 owner, ?4 since, ?5 token, ?6 duration, ?7 boot, ?8 expiry, ?9 errors.
-- Result: none; one row changes.
UPDATE dlock_task
SET uuid = ?2, renewals = 0, owner = ?3, since = ?4, token = ?5, duration = ?6, released = 0, asked = 0,
    boot = ?7, expiry = ?8, errors = ?9, attempt = attempt + 1, checkpoints = 0
WHERE id = ?1;
