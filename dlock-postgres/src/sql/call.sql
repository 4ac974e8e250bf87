-- A function of ours, called as {call}.
-- Result: one row, as `record.rs` reads it: the record shown, the store's clock, the verdict, the mark.
SELECT (f.shown).uuid, (f.shown).renewals, (f.shown).owner, (f.shown).since, (f.shown).token,
    (f.shown).duration, (f.shown).released, (f.shown).asked, (f.shown).data, (f.shown).expiry,
    f.clock, f.verdict, (f.shown).wanted
FROM {call} AS f
