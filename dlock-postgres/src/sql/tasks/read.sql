-- The record of a claim. $1 the task, $2 the claim's token.
-- Result: at most one row, as `record.rs` reads it: the record, the store's clock.
SELECT t.uuid, t.renewals, t.owner, t.since, t.token, t.duration, t.released, t.asked, NULL::pg_catalog.bytea,
    t.expiry, pg_catalog.clock_timestamp()
FROM {task} AS t
WHERE t.id OPERATOR(pg_catalog.=) $1 AND t.token OPERATOR(pg_catalog.=) $2 AND t.uuid IS NOT NULL
