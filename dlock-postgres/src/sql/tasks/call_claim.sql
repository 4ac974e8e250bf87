-- Gives out tasks, see claim.sql, whose parameters these are.
-- Result: a row for each task, in the order that `tasks/row.rs` reads, and one whose number is null.
SELECT f.id, f.token, f.queue, f.kind, f.payload::pg_catalog.text, f.attempt, f.max_attempts,
    f.checkpoint::pg_catalog.text, f.wait, f.swept, f.priority, f.run_at, f.has_lane, f.lost
FROM {claim}($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) AS f
