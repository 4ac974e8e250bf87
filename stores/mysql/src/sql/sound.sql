-- Whether the row `l` is a record: any program may have put anything into the table, and a row that is no record of
-- ours is shown as it is and never written to.
COALESCE(
    l.renewals BETWEEN 0 AND 9007199254740991 AND OCTET_LENGTH(l.owner) <= 1024
    AND l.since BETWEEN 0 AND 9007199254000000 AND l.token BETWEEN 1 AND 9007199254740991
    AND l.duration BETWEEN 100 AND 86400000 AND l.released IN (0, 1) AND l.asked IN (0, 1)
    AND l.wanted IS NOT NULL AND l.expiry BETWEEN 0 AND 9223372036854775807,
    FALSE)
