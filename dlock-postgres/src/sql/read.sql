-- The record of a lock. $1 prefix, $2 name.
-- Result: at most one row, as `record.rs` reads it: the record, the store's clock, the mark.
SELECT l.uuid, l.renewals, l.owner, l.since, l.token, l.duration, l.released, l.asked, l.data, l.expiry,
    pg_catalog.clock_timestamp(), l.wanted
FROM {table} AS l
WHERE l.prefix OPERATOR(pg_catalog.=) $1 AND l.name OPERATOR(pg_catalog.=) $2
