-- The ledger, in its order. No parameters. Result: its columns, then an instant in microseconds of Unix time that is
-- before the first read of the entry's transaction: when the last task before it was enqueued, 0 if there was none.
SELECT place, task, queue, lane, priority, run_at, token, held, expiry, duration, gone,
    coalesce(max(added) OVER (ORDER BY place ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0)
FROM ledger
ORDER BY place;
