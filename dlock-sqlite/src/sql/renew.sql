-- Applies a renewal (R1). ?1 prefix, ?2 name, ?3 renewals, ?4 boot, ?5 expiry.
-- Result: none; one row changes.
UPDATE lock SET renewals = ?3, boot = ?4, expiry = ?5
WHERE prefix = ?1 AND name = ?2;
