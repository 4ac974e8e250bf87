-- Takes a term away from its holder without granting it (B1). ?1 prefix, ?2 name, ?3 the uuid that
-- replaces the holder's.
-- Result: none; one row changes.
UPDATE lock SET uuid = ?3, renewals = 0
WHERE prefix = ?1 AND name = ?2;
