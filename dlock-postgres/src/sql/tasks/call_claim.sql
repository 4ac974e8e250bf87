-- Gives out tasks, see claim.sql, whose parameters these are.
-- Result: a row for each task, in the order that `tasks/row.rs` reads, and one whose number is null.
SELECT (f.shown).id, (f.shown).token, (f.shown).queue, (f.shown).kind, (f.shown).payload::pg_catalog.text,
    (f.shown).attempt, (f.shown).max_attempts, (f.shown).checkpoint::pg_catalog.text, f.wait, f.swept,
    (f.shown).priority, (f.shown).run_at, (f.shown).lane IS NOT NULL
FROM {claim}($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) AS f
