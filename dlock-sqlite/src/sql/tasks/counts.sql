-- How many tasks that have not ended are alike. ?1 now as unix time, ?2 now on the clock of expiries.
-- Result: queue, whether a worker has it, whether it is due, its boot, whether its expiry has passed, how many.
SELECT queue, uuid IS NOT NULL AND released IS NOT 1, run_at <= ?1, boot, expiry <= ?2, count(*)
FROM dlock_task
GROUP BY 1, 2, 3, 4, 5;
