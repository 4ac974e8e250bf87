-- The queues that are paused.
-- Parameters: none.
-- Result: their names, and since when.
SELECT p.queue, p.since FROM {paused} AS p ORDER BY p.queue
