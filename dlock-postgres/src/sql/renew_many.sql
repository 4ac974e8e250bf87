-- Renewals of many terms in one transaction. $1 prefix, $2 names, $3 uuids, $4 numbers: arrays of one
-- length.
-- Result: a row for each as in call.sql, with its place in the arrays, from 1, before the mark.
SELECT (f.shown).uuid, (f.shown).renewals, (f.shown).owner, (f.shown).since, (f.shown).token,
    (f.shown).duration, (f.shown).released, f.asked, (f.shown).data, (f.shown).expiry,
    f.clock, f.verdict, f.place, (f.shown).wanted
FROM {batch}($1, $2, $3, $4) AS f
