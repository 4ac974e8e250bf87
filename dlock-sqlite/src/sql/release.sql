-- Marks a term as released (L1); everything else stays. ?1 prefix, ?2 name.
-- Result: none; one row changes.
UPDATE lock SET released = 1
WHERE prefix = ?1 AND name = ?2;
