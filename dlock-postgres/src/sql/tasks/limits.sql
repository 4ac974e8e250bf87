-- The queues that have a limit.
-- Parameters: none.
-- Result: their names, and how many of their tasks run at a time at most.
SELECT l.queue, l.most FROM {limit} AS l ORDER BY l.queue
