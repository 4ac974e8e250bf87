-- Marks a term that keeps a waiter out (N1); everything else stays. ?1 prefix, ?2 name, ?3 wanted.
-- Result: none; one row changes.
UPDATE lock SET wanted = ?3
WHERE prefix = ?1 AND name = ?2;
