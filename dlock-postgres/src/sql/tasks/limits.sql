-- The queues that have a limit.
-- Parameters: none.
-- Result: their names, and the most tasks of each that run at a time.
SELECT l.queue, l.most FROM {limit} AS l ORDER BY l.queue
