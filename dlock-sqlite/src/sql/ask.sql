-- Asks the holder for the lock (B3). ?1 prefix, ?2 name.
-- Result: none; one row changes.
UPDATE lock SET asked = 1
WHERE prefix = ?1 AND name = ?2;
