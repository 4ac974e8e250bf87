-- Returns a task to the queue, see release.sql, whose parameters these are.
-- Result: one row, as `record.rs` reads it: the record shown, the store's clock; then whether it was returned.
SELECT (f.shown).uuid, (f.shown).renewals, (f.shown).owner, (f.shown).since, (f.shown).token,
    (f.shown).duration, (f.shown).released, (f.shown).asked, NULL::pg_catalog.bytea, (f.shown).expiry,
    f.clock, f.own
FROM {release}($1, $2, $3) AS f
