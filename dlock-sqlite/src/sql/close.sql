-- Ends a term and leaves the name closed (B4); everything else stays. ?1 prefix, ?2 name, ?3 the closing's
-- uuid, ?4 duration, ?5 boot, ?6 expiry.
-- Result: none; one row changes.
UPDATE lock SET uuid = ?3, renewals = 0, duration = ?4, boot = ?5, expiry = ?6
WHERE prefix = ?1 AND name = ?2;
