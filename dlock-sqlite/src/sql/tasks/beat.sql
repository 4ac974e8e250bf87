-- A heartbeat (R1). ?1 id, ?2 its number, ?3 boot, ?4 expiry. Result: none; one row changes.
UPDATE dlock_task SET renewals = ?2, boot = ?3, expiry = ?4 WHERE id = ?1;
