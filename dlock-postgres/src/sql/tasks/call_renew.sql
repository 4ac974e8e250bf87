-- Heartbeats, see renew.sql, whose parameters these are.
-- Result: a row for each, as `record.rs` reads it: the record shown, the store's clock, the verdict, the place.
SELECT (f.shown).uuid, (f.shown).renewals, (f.shown).owner, (f.shown).since, (f.shown).token,
    (f.shown).duration, (f.shown).released, f.asked, NULL::pg_catalog.bytea, (f.shown).expiry,
    f.clock, f.verdict, f.place
FROM {renew}($1, $2, $3, $4) AS f
