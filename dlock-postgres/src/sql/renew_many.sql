-- Renewals of many terms, each by itself as in renew.sql, in one transaction.
-- $1 prefix, $2 names, $3 uuids, $4 numbers: arrays of one length.
-- Result: a row for each as the function's, with its place in the arrays, from 1, as a 13th column.
-- The rows are locked in the order of their names, so two batches cannot deadlock. The arrays are
-- wrapped so that the planner does not look into them.
SELECT (f.shown).uuid, (f.shown).renewals, (f.shown).owner, (f.shown).since, (f.shown).token,
    (f.shown).duration, (f.shown).released, (f.shown).asked, (f.shown).data, (f.shown).expiry,
    f.clock, f.verdict, i.place
FROM (
    SELECT u.name, u.uuid, u.n, u.place
    FROM unnest((SELECT $2), (SELECT $3), (SELECT $4)) WITH ORDINALITY AS u (name, uuid, n, place)
    ORDER BY u.name COLLATE "C", u.place
) AS i, LATERAL {renew}($1, i.name, i.uuid, i.n) AS f
