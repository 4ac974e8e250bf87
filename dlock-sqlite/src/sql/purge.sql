-- Deletes records that ended 7 days ago and whose token the clock has passed (T5).
-- ?1 prefix, ?2 unix time in microseconds, ?3 this boot, ?4 the instant 7 days ago on its clock, ?5
-- whether a record of another boot ended 7 days ago, ?6 the greatest number of records.
-- Result: none; the rows that change are the rows deleted.
-- The types are checked because text is greater than any number: a corrupted row must not look old.
-- 36 characters: a boot of this machine, see boot.rs.
DELETE FROM lock
WHERE prefix = ?1 AND name IN (
    SELECT name
    FROM lock
    WHERE prefix = ?1
      AND typeof(token) = 'integer' AND token BETWEEN 1 AND ?2 - 1
      AND typeof(expiry) = 'integer'
      AND ((boot = ?3 AND expiry <= ?4) OR (?5 AND boot <> ?3 AND length(boot) = 36))
    LIMIT ?6
);
