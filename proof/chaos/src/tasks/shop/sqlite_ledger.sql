-- The ledger, in its order. No parameters. Result: its columns, then an instant, in microseconds of Unix time, before
-- which the transaction that wrote the entry had not begun to look: when a task was enqueued before it, 0 if none was.
SELECT place, task, queue, lane, priority, run_at, token, held, expiry, duration, gone,
    coalesce(max(added) OVER (ORDER BY place ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0)
FROM ledger
ORDER BY place;
