-- Records in byte order of their names. $1 prefix, $2 how the names begin, $3 the name after which
-- to start, $4 the greatest number of rows.
-- Result: rows as in read.sql, with the name before the mark.
SELECT l.uuid, l.renewals, l.owner, l.since, l.token, l.duration, l.released, l.asked, l.data, l.expiry,
    pg_catalog.clock_timestamp(), l.name, l.wanted
FROM {table} AS l
WHERE l.prefix OPERATOR(pg_catalog.=) $1 AND l.name OPERATOR(pg_catalog.^@) $2
    AND l.name OPERATOR(pg_catalog.>=) $2 AND l.name OPERATOR(pg_catalog.>) $3
ORDER BY l.name
LIMIT $4
