-- Whether a lock that is waited for is held. ?1 prefix, ?2 name.
-- Result: one row if it is. An expired lock counts as held: its waiters know when it expires.
SELECT 1 FROM lock
WHERE prefix = ?1 AND name = ?2 AND released = 0;
