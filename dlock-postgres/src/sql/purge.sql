-- Deletes records that ended 7 days ago and whose token the clock has passed (T5).
-- $1 prefix, $2 the greatest number of records.
-- Result: how many.
-- The rows are locked before they are deleted, so no client takes one in between; a row that
-- another session is writing to is not old.
WITH old AS (
    SELECT l.prefix, l.name
    FROM {table} AS l
    WHERE l.prefix OPERATOR(pg_catalog.=) $1
        AND l.expiry OPERATOR(pg_catalog.<=)
            (pg_catalog.clock_timestamp() OPERATOR(pg_catalog.-) interval '7 days')
        AND l.token OPERATOR(pg_catalog.<)
            (extract(epoch FROM pg_catalog.clock_timestamp()) OPERATOR(pg_catalog.*) 1000000)::bigint
        AND {sound}(l)
    LIMIT $2
    FOR UPDATE SKIP LOCKED
), deleted AS (
    DELETE FROM {table} AS l USING old
    WHERE l.prefix OPERATOR(pg_catalog.=) old.prefix AND l.name OPERATOR(pg_catalog.=) old.name
    RETURNING l.name
)
SELECT pg_catalog.count(*) FROM deleted
